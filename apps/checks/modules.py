"""Terraform modules of the config itself: what they declare, against what the config gives them."""

from collections.abc import Mapping
from pathlib import Path

from apps.config.metadata import Runner
from apps.config.terraform import TerraformModule
from apps.entities import Entities, Located
from apps.files import Folder, resolve
from apps.findings import Findings
from apps.spelling import did_you_mean
from apps.terraform_modules import DeclaredModule, ModuleError, read_module
from apps.terraform_versions import is_too_old, requirement_problem

Modules = Mapping[str, DeclaredModule]
"""What was read of the modules, by their directory."""


_CLOUDS = {
    "hashicorp/aws": "aws", "hashicorp/google": "gcp", "hashicorp/google-beta": "gcp",
    "hashicorp/azurerm": "azure",
}  # fmt: skip
"""Providers of which a module needs that of its cloud."""


def check_modules(entities: Entities, folder: Folder, findings: Findings) -> Modules:
    """Adds a problem for each module that cannot be deployed, or that is given wrong variables."""
    parts = [
        part
        for part in entities.of(TerraformModule)
        if part.model.has_source and part.model.source.is_local
    ]
    known = [part for part in parts if part.model.source.directory in folder.folders]
    modules = _read_modules(known, folder.root, findings)
    runner = entities.one(Runner)
    for part in known:
        module = modules.get(part.model.source.directory)
        if module is not None:
            _check_variables(part, module, findings)
            _check_version(part, module, findings)
            if runner is not None:
                _check_cloud(part, module, runner.model.cloud_platform, findings)
    return modules


def _read_modules(
    parts: list[Located[TerraformModule]], root: Path, findings: Findings
) -> dict[str, DeclaredModule]:
    """The module of each directory; those that cannot be read are told once and left out."""
    found: dict[str, DeclaredModule] = {}
    directories = {part.model.source.directory: part for part in reversed(parts)}
    for directory, part in sorted(directories.items()):
        try:
            module = read_module(root / directory)
        except ModuleError as error:
            if error.file == ".":
                message = f"`{directory}` {error.message}"
                findings.error(part.file, part.key(_source_key(part), "directory"), message)
            else:
                findings.error(f"{directory}/{error.file}", "", error.message, error.line)
            continue
        found[directory] = module
        _check_module(directory, module, findings)
    return found


def _check_module(directory: str, module: DeclaredModule, findings: Findings) -> None:
    if module.cloud_block is not None:
        findings.error(
            f"{directory}/{module.cloud_block}", "terraform.cloud",
            "a `cloud` block is not supported: the state lies in the install's own store; remove "
            "the block",
        )  # fmt: skip
    for name, source in module.module_sources.items():
        if not source.startswith(("./", "../")):
            continue
        path = resolve(directory, source)
        if path is None or not f"{path}/".startswith(f"{directory}/"):
            findings.error(
                directory, f"module.{name}.source",
                f"`{source}` leads out of `{directory}`, and a release holds that folder alone; "
                "move the module into it",
            )  # fmt: skip


def _check_variables(
    part: Located[TerraformModule], module: DeclaredModule, findings: Findings
) -> None:
    model, declared = part.model, module.variables
    where = f"the module in `{model.source.directory}`"
    for name in model.vars:
        if name not in declared:
            message = f"{where} declares no variable `{name}`{did_you_mean(name, declared)}"
            findings.error(part.file, part.key("vars", name), message)
    if model.var_file:
        return  # its content is only known per install
    for name, variable in sorted(declared.items()):
        given = name in model.vars or f"TF_VAR_{name}" in model.env_vars
        if not variable.has_default and not given:
            message = f"is required: {where} declares it without a default"
            findings.error(part.file, part.key("vars", name), message)


def _check_version(
    part: Located[TerraformModule], module: DeclaredModule, findings: Findings
) -> None:
    version, key = part.model.terraform_version, part.key("terraform_version")
    for file, requirement in module.required_versions:
        wants = f"required_version `{requirement}` in {part.model.source.directory}/{file}"
        problem = requirement_problem(version, requirement)
        if problem:
            findings.error(part.file, key, f"`{version}` contradicts {wants}: {problem}")
        elif is_too_old(version, requirement):
            findings.warning(part.file, key, f"`{version}` allows one that is too old for {wants}")


def _check_cloud(
    part: Located[TerraformModule], module: DeclaredModule, cloud: str, findings: Findings
) -> None:
    others = {name: _CLOUDS[name] for name in sorted(module.providers) if name in _CLOUDS}
    if others and cloud not in others.values():
        needed = ", ".join(f"`{name}`" for name in others)
        message = f"the module needs the provider {needed}, and the runner is on {cloud}"
        findings.warning(part.file, part.key(_source_key(part), "directory"), message)


def _source_key(part: Located[TerraformModule]) -> str:
    return "public_repo" if part.model.public_repo else "connected_repo"
