"""Where files come from: a folder of the config, a git repository, or a repository of charts."""

from typing import Final

from pydantic import Field

from apps.config.base import Model, Text

LOCAL_REFERENCES: Final = ("./", "../")
REMOTE_REFERENCES: Final = ("http://", "https://", "git::", "git@", "git://")
MACHINE_REFERENCES: Final = ("file:",)
"""How references begin: to a file in the config, elsewhere, or on one machine only."""


def is_reference(text: str) -> bool:
    """Whether a text is one line that begins as references do."""
    reference = text.strip()
    beginnings = (*LOCAL_REFERENCES, *REMOTE_REFERENCES, *MACHINE_REFERENCES)
    return "\n" not in reference and reference.startswith(beginnings)


def is_remote(text: str) -> bool:
    """Whether a text refers to a file that is fetched when a release is built."""
    return is_reference(text) and text.strip().startswith(REMOTE_REFERENCES)


class Source(Model):
    """A folder in the config itself (`repo = "."`) or in a git repository."""

    repo: Text
    """`.` for the config itself, `owner/name`, or the URL of a git repository."""
    directory: Text
    """Relative to the config or the repository, with `/`."""
    branch: str | None = None
    """The branch of the repository; a folder in the config itself has none."""

    @property
    def is_local(self) -> bool:
        """Whether it is a folder in the config itself."""
        return self.repo == "."

    @property
    def place(self) -> "Source":
        """The same for equal folders: a folder in the config itself has no branch."""
        return self.model_copy(update={"branch": None}) if self.is_local else self


class FetchedSource(Model):
    """Something that a release was made of, but that is not in the config's own folder."""

    url: Text
    """The address of a git repository or a file on the web, without credentials and query."""
    ref: str = ""
    """The branch, tag or commit that the config names."""
    commit: str = ""
    """The commit that this was when the release was built."""
    directory: str = ""
    """The folder or file in the repository; empty for the whole repository."""
    digest: str = ""
    """The digest of a single file's content."""
    used_by: list[str] = Field(default_factory=list)
    """The files of the config that name it."""


class HelmRepository(Model):
    """A chart in a repository of charts."""

    repo_url: Text
    chart: Text
    version: str | None = None
