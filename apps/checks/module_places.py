"""Where the Terraform modules of a config lie while it is checked: in its folder, or fetched."""

from collections.abc import Mapping

from apps.config.sources import Source
from apps.config.terraform import TerraformModule
from apps.entities import Located
from apps.fetched import Fetched, NotFetched, Tree
from apps.files import Folder
from apps.terraform_modules import DeclaredModule

Declared = Mapping[Source, DeclaredModule]
"""What was read of the modules, by their place."""


class Modules:
    """The folders of the modules that can be looked at."""

    def __init__(self, folder: Folder, fetched: Fetched | None = None) -> None:
        """Those of the config's own folder, and those that were fetched for it."""
        self._folder = folder
        self._fetched = fetched or Fetched()

    def find(self, source: Source) -> Tree | NotFetched | None:
        """Where a module is; None where there is nothing to look at, or to tell."""
        if source.is_local:
            there = source.directory in self._folder.folders
            return Tree(self._folder.root / source.directory, source.directory) if there else None
        return self._fetched.trees.get(source)


def source_key(part: Located[TerraformModule]) -> str:
    """The key that says where a part's module is."""
    return "public_repo" if part.model.public_repo else "connected_repo"
