"""Where files come from: a folder of the config, a git repository, or a repository of charts."""

from typing import Final

from pydantic import Field

from apps.config.base import Model, Text

LOCAL_REFERENCES: Final = ("./", "../")
REMOTE_REFERENCES: Final = ("http://", "https://", "git::", "git@", "git://")
MACHINE_REFERENCES: Final = ("file:",)
"""How a reference begins: to a file of the config, of elsewhere, and of one machine alone."""


def is_reference(text: str) -> bool:
    """Whether a text is one line that begins as references do."""
    reference = text.strip()
    beginnings = (*LOCAL_REFERENCES, *REMOTE_REFERENCES, *MACHINE_REFERENCES)
    return "\n" not in reference and reference.startswith(beginnings)


def is_remote(text: str) -> bool:
    """Whether a text refers to a file that is fetched when a release is built."""
    return is_reference(text) and text.strip().startswith(REMOTE_REFERENCES)


class Source(Model):
    """A folder, of the config itself (`repo = "."`) or of a git repository."""

    repo: Text
    """`.` for the config itself, `owner/name`, or the URL of a git repository."""
    directory: Text
    """Relative to the config or the repository, with `/`."""
    branch: str | None = None
    """Of the repository; a folder of the config itself needs none."""

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of the config itself."""
        return self.repo == "."

    @property
    def place(self) -> "Source":
        """Equal for what is the same folder: one of the config itself has no branch."""
        return self.model_copy(update={"branch": None}) if self.is_local else self


class FetchedSource(Model):
    """What a release was made of that does not lie in the config's own folder."""

    url: Text
    """Of a git repository, or of a file on the web; without credentials and query."""
    ref: str = ""
    """The branch, tag or commit that the config names."""
    commit: str = ""
    """What that was when the release was built."""
    directory: str = ""
    """The folder or file of the repository; empty for all of it."""
    digest: str = ""
    """Of a single file: what its content has."""
    used_by: list[str] = Field(default_factory=list)
    """The files of the config that name it."""


class HelmRepository(Model):
    """A chart in a repository of charts."""

    repo_url: Text
    chart: Text
    version: str | None = None
