"""How a component is watched once it runs."""

from typing import Literal

from pydantic import Field

from apps.config.base import Model, TemplateText, UpToAnHour


class Probe(Model):
    """One question whose answer tells whether the component serves."""

    type: Literal["http", "tcp", "exec"]
    name: str | None = None
    url: TemplateText | None = None
    """Of `http` and `tcp`."""
    command: list[TemplateText] = Field(default_factory=list)
    """Of `exec`: a program and its arguments; no shell reads it."""


class Health(Model):
    """How long a component must be healthy before its deploy is done."""

    enabled: bool = True
    stabilization_window: UpToAnHour = "3m"
    block_deploy: bool = False
    """A deploy fails if the component does not become healthy."""
    probes: list[Probe] = Field(default_factory=list)
    required_checks: list[str] = Field(default_factory=list)
    """Names of checks that something else must report as passed."""
