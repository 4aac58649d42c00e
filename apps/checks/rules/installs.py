"""Rules for a vendor's tables about installs: accounts, branches, groups."""

import re
import warnings
from collections.abc import Iterator

from apps.checks.rules.sources import one_source
from apps.checks.violations import Rules, Violation, exactly_one
from apps.config.vendor import Branch, BranchPreview, InstallConfig, InstallGroup, InstallsLocation


def _install(install: InstallConfig) -> Iterator[Violation]:
    keys = ("aws_account", "gcp_account", "azure_account")
    given = {key: getattr(install, key) is not None for key in keys}
    problem = exactly_one(given, or_none=True)
    if problem:
        yield Violation("", problem)


def _installs_location(location: InstallsLocation) -> Iterator[Violation]:
    yield from one_source(location)


def _branch(branch: Branch) -> Iterator[Violation]:
    yield from one_source(branch, or_none=True)
    if branch.ignore_changes_regex:
        try:
            with warnings.catch_warnings(action="ignore"):
                re.compile(branch.ignore_changes_regex)
        except (re.error, RecursionError, OverflowError) as error:
            # What reads it has a slightly different syntax.
            message = f"may not be a valid regular expression: {error}"
            yield Violation("ignore_changes_regex", message, "warning")


def _install_group(group: InstallGroup) -> Iterator[Violation]:
    if group.label_selector and (group.install_ids or group.install_names):
        yield Violation("label_selector", "excludes `install_ids` and `install_names`")


def _preview(preview: BranchPreview) -> Iterator[Violation]:
    given = {
        "install_id": bool(preview.install_id),
        "install_name": bool(preview.install_name),
        "label_selector": bool(preview.label_selector),
    }
    problem = exactly_one(given, or_none=preview.mode == "build-only")
    if problem:
        yield Violation("", problem)


RULES: Rules = {
    InstallConfig: _install,
    InstallsLocation: _installs_location,
    Branch: _branch,
    InstallGroup: _install_group,
    BranchPreview: _preview,
}
