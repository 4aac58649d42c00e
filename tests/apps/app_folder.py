"""A valid app config in a folder, that a test then changes."""

from pathlib import Path

import pytest

from apps.loader import ConfigErrors, LoadedApp, Problem, load
from tests.shipped import DEPLOYABLE

METADATA = 'version = "v2"\n'
MODULE = 'variable "zone" {}\nvariable "size" {\n  default = 1\n}\noutput "url" {\n  value = 1\n}\n'
DB = """type = "terraform_module"
name = "db"
terraform_version = "1.11.4"
public_repo = { repo = ".", directory = "modules/db" }
vars = { zone = "z" }
"""
ACTION = """name = "check"
triggers = [{ type = "manual" }]
[[steps]]
name = "one"
command = "true"
"""
INPUTS = """[[input]]
name = "zone"
display_name = "Zone"
description = "Where"
"""


def told(problem: Problem) -> str:
    """A problem without its line and severity."""
    return ": ".join(part for part in (problem.file, problem.key, problem.message) if part)


class App:
    """A valid config in a folder, that a test then changes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("metadata.toml", METADATA)
        self.write("inputs.toml", INPUTS)
        self.write("components/db.toml", DB)
        self.write("modules/db/main.tf", MODULE)
        self.write("actions/check.toml", ACTION)

    def write(self, file: str, content: str | bytes) -> None:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def load(self) -> LoadedApp:
        return load(self.root, DEPLOYABLE)

    def problems(self) -> list[Problem]:
        with pytest.raises(ConfigErrors) as caught:
            self.load()
        return caught.value.problems

    def errors(self) -> list[str]:
        """What is wrong with which key; the lines have tests of their own."""
        return [told(problem) for problem in self.problems() if problem.severity == "error"]

    def only_error(self) -> str:
        errors = self.errors()
        assert len(errors) == 1, errors
        return errors[0]
