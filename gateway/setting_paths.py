"""Paths in a file of settings."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo


def _beside(value: Path, info: ValidationInfo) -> Path:
    """A path is relative to the folder of the file that names it, which is the context."""
    return info.context / value if isinstance(info.context, Path) else value


File = Annotated[Path, AfterValidator(_beside)]
