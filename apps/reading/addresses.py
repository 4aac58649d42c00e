"""Addresses outside a config: git repositories, files in them, and files on the web.

Only a few forms are accepted. Since an address ends up in a command line, and in the part of a
release that everybody may read, none may begin with `-` or hold credentials.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit, urlunsplit

_OWNER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_SSH = re.compile(r"git@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9_.~/][A-Za-z0-9_.~/-]*")
_HTTPS = re.compile(r"https://[A-Za-z0-9\[][A-Za-z0-9.:\[\]-]*/\S+")
_SSH_URL = re.compile(r"ssh://git@[A-Za-z0-9][A-Za-z0-9.-]*(:\d+)?/[A-Za-z0-9_.~/-]+")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_REF_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock$|[/.]$|^[-/.]")
_USER_INFO = re.compile(r"(?<=://)[^/@\s'\"]*@")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

REPOSITORY_FORMS: Final = "`owner/name`, `https://host/owner/name.git` or `git@host:owner/name.git`"


class AddressRefused(ValueError):
    """An address is refused; the message says why, and what would be right."""


@dataclass(frozen=True)
class GitFile:
    """One file in a git repository."""

    url: str
    path: str
    """The path within the repository."""
    ref: str
    """A branch, tag or commit; `HEAD` is the repository's default."""


def repository_url(repo: str) -> str:
    """The URL that git gets for a `repo` of a config; `owner/name` is on GitHub.

    Raises:
        AddressRefused: it has another form, or holds credentials.
    """
    if _OWNER_NAME.fullmatch(repo):
        return f"https://github.com/{repo.removesuffix('.git')}.git"
    _refuse_credentials(repo)
    known = any(form.fullmatch(repo) for form in (_SSH, _HTTPS, _SSH_URL))
    if not known or _CONTROL.search(repo) or "?" in repo or "#" in repo:
        raise AddressRefused(f"`{shown(repo)}` is not a repository; write {REPOSITORY_FORMS}")
    return repo


def checked_ref(ref: str) -> str:
    """A branch, tag or full commit that is safe to pass to git.

    Raises:
        AddressRefused: git could have no branch of that name.
    """
    if not ref or _REF_FORBIDDEN.search(ref):
        raise AddressRefused(f"`{ref}` cannot be a branch, tag or commit")
    return ref


def is_commit(ref: str) -> bool:
    """Whether a ref is a full commit id, which never moves."""
    return _COMMIT.fullmatch(ref) is not None


def checked_directory(directory: str) -> str:
    """A path within a repository, without `.` segments; empty for the repository itself.

    Raises:
        AddressRefused: it leads out of the repository.
    """
    parts = [part for part in directory.split("/") if part not in ("", ".")]
    if directory.startswith("/") or ".." in parts or "\\" in directory or "\0" in directory:
        raise AddressRefused(f"`{directory}` must be a folder inside the repository")
    return "/".join(parts)


def https_url(reference: str) -> str:
    """The address of a file on the web.

    Raises:
        AddressRefused: it is not https, or holds credentials.
    """
    if reference.startswith("http://"):
        raise AddressRefused(
            f"`{shown(reference)}` could be changed on its way; write https://, or copy the file "
            "into the config"
        )
    _refuse_credentials(reference)
    if not _HTTPS.fullmatch(reference) or _CONTROL.search(reference):
        raise AddressRefused(f"`{shown(reference)}` is not the address of a file on the web")
    return reference


def git_file(reference: str) -> GitFile:
    """The file that `git::https://host/owner/name.git//path?ref=main` names, or `git@host:…`.

    Raises:
        AddressRefused: it has another form.
    """
    wanted = (
        f"`{shown(reference)}` does not name a file in a repository; write "
        "git::https://host/owner/name.git//path/to/file?ref=main"
    )
    if reference.startswith("git://"):
        raise AddressRefused(f"{wanted}: the protocol git:// proves nothing")
    address, _, query = reference.removeprefix("git::").partition("?")
    scheme, separator, rest = address.rpartition("://")
    repository, divider, path = rest.partition("//")
    ref = query.removeprefix("ref=") if query else "HEAD"
    if not divider or not path or (query and not query.startswith("ref=")) or "&" in query:
        raise AddressRefused(wanted)
    return GitFile(
        repository_url(f"{scheme}{separator}{repository}"),
        checked_directory(path),
        checked_ref(ref),
    )


def is_git(reference: str) -> bool:
    """Whether a reference is to a file in a repository, and not on the web."""
    return reference.startswith("git")


def shown(address: str) -> str:
    """An address that everybody may read: without user, password and query."""
    plain = without_credentials(address)
    if "://" not in plain:
        return plain
    try:
        parts = urlsplit(plain)
    except ValueError:
        return plain.partition("?")[0]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))


def without_credentials(text: str) -> str:
    """A text without the users and passwords in its URLs."""
    return _USER_INFO.sub("", text)


def _refuse_credentials(address: str) -> None:
    if "://" in address and not address.startswith("ssh://") and _USER_INFO.search(address):
        raise AddressRefused(
            f"`{shown(address)}` is written with credentials, which everybody who has the release "
            "could read; give them to git on the build worker (a credential helper), and take "
            "them out"
        )
