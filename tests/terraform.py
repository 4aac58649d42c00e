"""The Terraform of the tests: the one on the PATH, else the library in the tests' environment."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from activities.terraform.tool import find_terraform
from contracts.errors import ToolMissing


def see_the_library() -> None:
    """As an activated environment does: workers look for the library's command on the PATH.

    Where there is an executable it is left out: one that a test takes away must be missed.
    """
    if shutil.which("terraform") is None and shutil.which("tofu") is None:
        own = str(Path(sys.executable).parent)
        os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{own}"


def the_terraform() -> str:
    """Its command; a test that needs one fails where there is none."""
    try:
        return str(find_terraform().path)
    except ToolMissing:
        pytest.fail(
            "This test drives a real Terraform: install it as a library (make terraform), or put "
            "`terraform` (1.5 or newer) on the PATH, from "
            "https://developer.hashicorp.com/terraform/install."
        )
