"""OCI artifacts: layout folders, the registry client, archives and their digests."""

import wire  # noqa: F401 - before httpx, so that httpx does not import its command line
