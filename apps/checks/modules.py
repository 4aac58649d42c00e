"""Checks what Terraform modules declare against what the config gives them."""

from apps.checks.module_places import Declared, Modules, source_key
from apps.config.metadata import Runner
from apps.config.sources import Source
from apps.config.terraform import TerraformModule
from apps.reading.entities import Entities, Located
from apps.reading.fetched import NotFetched, Tree
from apps.reading.findings import Findings
from apps.spelling import did_you_mean
from apps.terraform.lock_file import LOCK_FILE, lock_problem
from apps.terraform.module_reach import Reach, reach
from apps.terraform.modules import DeclaredModule, ModuleError, read_module
from apps.terraform.versions import is_too_old, requirement_problem

_CLOUDS = {
    "hashicorp/aws": "aws", "hashicorp/google": "gcp", "hashicorp/google-beta": "gcp",
    "hashicorp/azurerm": "azure",
}  # fmt: skip
"""The cloud that each of these providers is for."""


def check_modules(entities: Entities, modules: Modules, findings: Findings) -> Declared:
    """Adds a problem for each module that cannot be deployed, or that is given wrong variables."""
    known: list[tuple[Located[TerraformModule], Tree]] = []
    for part in entities.of(TerraformModule):
        found = modules.find(part.model.source) if part.model.has_source else None
        modules.uses_a_cloud |= found is None and part.model.has_source
        if isinstance(found, NotFetched):
            findings.error(part.file, part.key(source_key(part.model), found.key), found.message)
        elif found is not None:
            known.append((part, found))
    declared = _read_modules(known, modules, findings)
    runner = entities.one(Runner)
    for part, tree in known:
        module = declared.get(part.model.source.place)
        if module is not None:
            _check_variables(part, module, tree, findings)
            _check_version(part, module, tree, findings)
            if runner is not None:
                _check_cloud(part, module, runner.model.cloud_platform, findings)
    return declared


def _read_modules(
    parts: list[tuple[Located[TerraformModule], Tree]], modules: Modules, findings: Findings
) -> dict[Source, DeclaredModule]:
    """The module of each place; one that cannot be read is reported once and left out."""
    found: dict[Source, DeclaredModule] = {}
    places = {part.model.source.place: (part, tree) for part, tree in reversed(parts)}
    for place, (part, tree) in sorted(places.items(), key=lambda item: item[1][1].name):
        try:
            module = read_module(tree.folder)
        except ModuleError as error:
            if error.file == ".":
                message = f"`{tree.name}` {error.message}"
                findings.error(part.file, part.key(source_key(part.model), "directory"), message)
            else:
                findings.error(tree.file(error.file), "", error.message, error.line)
            continue
        found[place] = module
        _check_module(tree, module, findings)
        _check_providers(tree, module, findings)
        modules.uses_a_cloud |= not _CLOUDS.keys().isdisjoint(module.providers)
        reached = reach(tree.top, tree.directory)
        _check_reach(tree, reached, findings)
        if reached.root != tree.directory:
            modules.roots[place] = reached.root
    return found


def _check_module(tree: Tree, module: DeclaredModule, findings: Findings) -> None:
    for doubt in module.doubts:
        findings.warning(tree.file(doubt.file), "", doubt.message, line=doubt.line)
    if module.is_for_opentofu:
        message = f"`{tree.name}` has only *.tofu files: a worker with Terraform cannot deploy it"
        findings.warning(tree.name or ".", "", message)
    if module.cloud_block is not None:
        findings.error(
            tree.file(module.cloud_block), "terraform.cloud",
            "a `cloud` block is not supported: the state lies in the install's own store; remove "
            "the block",
        )  # fmt: skip


def _check_providers(tree: Tree, module: DeclaredModule, findings: Findings) -> None:
    problem = lock_problem(tree.folder) if module.providers else None
    if problem:
        findings.warning(tree.file(LOCK_FILE), "", problem)


def _check_reach(tree: Tree, reached: Reach, findings: Findings) -> None:
    whole = f"`{tree.repository.removesuffix(':')}`" if tree.repository else "the config's folder"
    for one in reached.leads_out:
        why = f"leads out of {whole}" if one.is_outside else "is not there"
        findings.error(
            f"{tree.repository}{one.file}",
            "",
            f"the module's source `{one.source}` {why}",
            one.line,
        )


def _check_variables(
    part: Located[TerraformModule], module: DeclaredModule, tree: Tree, findings: Findings
) -> None:
    model, declared = part.model, module.variables
    if not module.is_complete:
        return  # any variable may be declared, with a default or without
    where = f"the module in `{tree.name}`"
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
    part: Located[TerraformModule], module: DeclaredModule, tree: Tree, findings: Findings
) -> None:
    version, key = part.model.terraform_version, part.key("terraform_version")
    for file, requirement in module.required_versions:
        wants = f"required_version `{requirement}` in {tree.file(file)}"
        problem = requirement_problem(version, requirement)
        if problem:
            findings.error(part.file, key, f"`{version}` contradicts {wants}: {problem}")
        elif is_too_old(version, requirement):
            findings.warning(part.file, key, f"`{version}` allows versions too old for {wants}")


def _check_cloud(
    part: Located[TerraformModule], module: DeclaredModule, cloud: str, findings: Findings
) -> None:
    others = {name: _CLOUDS[name] for name in sorted(module.providers) if name in _CLOUDS}
    if others and cloud not in others.values():
        needed = ", ".join(f"`{name}`" for name in others)
        message = f"the module needs the provider {needed}, and the runner is on {cloud}"
        findings.warning(part.file, part.key(source_key(part.model), "directory"), message)
