"""The install `acme` of the app `shop`, as a worker has it at hand: in a folder of the test."""

from pathlib import Path
from typing import cast

from activities.operations.opening import Operations
from activities.releases.reader import ReleaseReader
from activities.workplace import Workplace
from apps.config.app import AppConfig
from store.folder import FolderStore
from store.install_state import InstallState
from store.opening import folder_description
from tests.stored.fixed import INSTALL, MACHINE, ORG
from workers.engines import ENGINES

CONFIG = AppConfig.model_validate(
    {
        "metadata": {"version": "v2"},
        "inputs": [
            {"name": "region", "display_name": "Region", "description": "Where"},
            {
                "name": "license",
                "display_name": "License",
                "description": "What for",
                "sensitive": True,
            },
        ],
        "components": [
            {
                "type": "terraform_module",
                "name": "network",
                "terraform_version": "1.11.0",
                "public_repo": {"repo": ".", "directory": "modules/network"},
                "vars": {"region": "{{ .nuon.inputs.inputs.region }}"},
            }
        ],
    }
)


def workplace_in(root: Path) -> Workplace:
    """What activities work with; the store and the worker's data are folders below `root`."""
    store, data = FolderStore(root / "store"), root / "worker"
    return Workplace(
        engines=ENGINES,
        install=INSTALL,
        org=ORG,
        data=data,
        store=store,
        state=InstallState(store, INSTALL, ORG),
        operations=Operations(store, folder_description(store.root), data, MACHINE),
        open_releases=lambda: cast(ReleaseReader, None),
    )
