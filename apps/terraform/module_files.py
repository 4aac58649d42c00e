"""Which files of a folder Terraform and OpenTofu read as a module, and in which order."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

TERRAFORM_ENDINGS: Final = (".tf", ".tf.json")
_OPENTOFU_ENDINGS: Final = (".tofu", ".tofu.json")


def module_files(folder: Path) -> list[str]:
    """The names of the files in `folder` that Terraform or OpenTofu may read, sorted."""
    return sorted(
        path.name
        for path in folder.iterdir()
        if path.name.endswith((*TERRAFORM_ENDINGS, *_OPENTOFU_ENDINGS))
        and not path.name.startswith(".")
        and path.is_file()
        and not path.is_symlink()
    )


def of_terraform(names: Iterable[str]) -> list[str]:
    """The files that Terraform reads: overrides last."""
    return _overrides_last(name for name in names if name.endswith(TERRAFORM_ENDINGS))


def of_opentofu(names: Iterable[str]) -> list[str]:
    """The files that OpenTofu reads: `x.tofu` in place of `x.tf`, and overrides last."""
    there = set(names)
    return _overrides_last(name for name in there if _tofu_name(name) not in there)


def is_override(name: str) -> bool:
    """Whether the blocks of a file are merged into those of the others."""
    stem = _stem(name)
    return stem == "override" or stem.endswith("_override")


def _overrides_last(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (is_override(name), name))


def _tofu_name(name: str) -> str | None:
    for ending, instead in zip(TERRAFORM_ENDINGS, _OPENTOFU_ENDINGS, strict=True):
        if name.endswith(ending):
            return name.removesuffix(ending) + instead
    return None


def _stem(name: str) -> str:
    for ending in (*TERRAFORM_ENDINGS, *_OPENTOFU_ENDINGS):
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name
