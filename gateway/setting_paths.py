"""Paths in a settings file."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo


def _beside(value: Path, info: ValidationInfo) -> Path:
    """Resolves a path against the folder of the settings file, which is the validation context."""
    return info.context / value if isinstance(info.context, Path) else value


File = Annotated[Path, AfterValidator(_beside)]
