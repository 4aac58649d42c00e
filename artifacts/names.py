"""Digests, repository names and tags, checked against the grammar of the OCI specifications.

Every name that becomes part of a path or URL is checked here first, so none can lead out of its
folder or to another endpoint.
"""

import hashlib
import re
from pathlib import Path

CHUNK_BYTES = 1024 * 1024

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_REPOSITORY = 255


class InvalidName(ValueError):
    """A repository, tag or digest that the OCI grammar does not allow."""


class InvalidDigest(InvalidName):
    """Not `sha256:` and 64 hexadecimal digits."""


def checked_repository(name: str) -> str:
    """Return `name`; raise InvalidName if it is not an OCI repository name."""
    if len(name) > _MAX_REPOSITORY or not _REPOSITORY.fullmatch(name):
        raise InvalidName(
            f"{name[:300]!r} is not a repository name: lower case letters and digits, joined by "
            "single dots, dashes or underscores, in parts separated by /, at most 255 characters"
        )
    return name


def checked_digest(digest: str) -> str:
    """Return `digest`; raise InvalidDigest if it is not a sha256 digest."""
    if not _DIGEST.fullmatch(digest):
        raise InvalidDigest(
            f"{digest[:100]!r} is not a digest: expected sha256: and 64 hexadecimal digits"
        )
    return digest


def checked_reference(reference: str) -> str:
    """Return `reference`, a tag or digest; raise InvalidName or InvalidDigest otherwise."""
    if ":" in reference:
        return checked_digest(reference)
    if not _TAG.fullmatch(reference):
        raise InvalidName(f"{reference[:200]!r} is neither a tag nor a digest")
    return reference


def is_digest(reference: str) -> bool:
    """Whether the reference is a digest (otherwise it is a tag)."""
    return _DIGEST.fullmatch(reference) is not None


def hex_of(digest: str) -> str:
    """The hexadecimal digits of a digest: its file name in a layout."""
    return checked_digest(digest).partition(":")[2]


def keeping_tag(digest: str) -> str:
    """The tag that keeps a manifest: a registry's garbage collector removes untagged ones.

    Tags of the form `sha256-…` are avoided: cosign uses them, and so do registries without a
    referrers API, to find what refers to a manifest.
    """
    return f"exclave-sha256-{hex_of(digest)}"


def digest_of(data: bytes) -> str:
    """The digest of `data`."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def digest_of_file(path: Path) -> str:
    """The digest of a file's content, read in pieces."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
