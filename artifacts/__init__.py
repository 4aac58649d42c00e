"""OCI artifacts: layout folders, the distribution client, archives and the digests of it all."""

import wire  # noqa: F401 - before httpx, whose command line it keeps out
