"""Where a config's modules and scripts are while it is checked: in its folder, or fetched."""

from collections.abc import Mapping

from apps.config.actions import ActionStep
from apps.config.sources import Source
from apps.config.terraform import TerraformModule
from apps.reading.fetched import Fetched, NotFetched, Tree
from apps.reading.files import Folder
from apps.terraform.modules import DeclaredModule

Declared = Mapping[Source, DeclaredModule]
"""The declarations of the modules that could be read, by their place."""


class Modules:
    """The folders of modules and scripts that can be looked at."""

    def __init__(self, folder: Folder, fetched: Fetched | None = None) -> None:
        """Those of the config's own folder, and those that were fetched for it."""
        self._folder = folder
        self._fetched = fetched or Fetched()
        self.roots: dict[Source, str] = {}
        """The folder to pack, by the place of each module that reaches outside its own folder."""
        self.uses_a_cloud = False
        """A module needs a cloud's provider, or may need one, since it was not fetched."""

    def find(self, source: Source) -> Tree | NotFetched | None:
        """Where a module is; None if there is nothing to look at, or nothing to report."""
        if source.is_local:
            # The loader normalizes directories, and has refused any other.
            directory = source.directory if source.directory != "." else ""
            there = not directory or directory in self._folder.folders
            return Tree(self._folder.root, directory) if there else None
        return self._fetched.trees.get(source)


def source_key(model: TerraformModule | ActionStep) -> str:
    """The key that says where a part's module is, or where a step's command is run."""
    return "public_repo" if model.public_repo else "connected_repo"
