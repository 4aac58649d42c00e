"""How a component is watched once it runs."""

from typing import Literal

from pydantic import Field

from apps.config.base import Model, TemplateText, UpToAnHour


class Probe(Model):
    """A check whose result says whether the component is serving."""

    type: Literal["http", "tcp", "exec"]
    name: str | None = None
    url: TemplateText | None = None
    """For `http` and `tcp`."""
    command: list[TemplateText] = Field(default_factory=list)
    """For `exec`: a program and its arguments; no shell is involved."""


class Health(Model):
    """How long a component must be healthy before its deploy is done."""

    enabled: bool = True
    stabilization_window: UpToAnHour = "3m"
    block_deploy: bool = False
    """A deploy fails if the component does not become healthy."""
    probes: list[Probe] = Field(default_factory=list)
    required_checks: list[str] = Field(default_factory=list)
    """Names of external checks that must be reported as passed."""
