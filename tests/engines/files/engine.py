"""The engine of the tests alone, as its install worker registers it."""

import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from activities.engines import AnyActivity, Engine
from activities.tools.tool import Tool
from activities.workplace import Workplace
from tests.engines.files.declaration import FILES


def find_writer() -> Tool:
    """The script beside this file, in the Python that runs it."""
    return Tool(Path(sys.executable), "files-writer", "1.0.0", platform.platform())


def _activities(workplace: Workplace) -> Sequence[AnyActivity]:
    from tests.engines.files.activities import FilesActivities  # noqa: PLC0415 - with a first task

    found = FilesActivities(workplace)
    return found.plan, found.apply


FILES_ENGINE = Engine(FILES, activities=_activities, find_tool=find_writer)
