"""Rules for sources of code."""

from collections.abc import Iterator
from typing import Any

from apps.checks.violations import Rules, Violation, exactly_one
from apps.config.sources import Source
from apps.reading.addresses import AddressRefused, checked_directory, checked_ref, repository_url


def _source(source: Source) -> Iterator[Violation]:
    if source.is_local:
        return
    try:
        repository_url(source.repo)
    except AddressRefused as refused:
        yield Violation("repo", str(refused))
        return
    if not source.branch:
        yield Violation("branch", f"is required: which branch of `{source.repo}`")
    for key, check in (("branch", checked_ref), ("directory", checked_directory)):
        value = getattr(source, key)
        try:
            check(value or "main")
        except AddressRefused as refused:
            yield Violation(key, str(refused))


def one_source(model: Any, *more: str, or_none: bool = False) -> Iterator[Violation]:
    """A violation unless exactly one of the keys of a source, or of `more`, is set."""
    keys = ("public_repo", "connected_repo", *more)
    problem = exactly_one({key: getattr(model, key) is not None for key in keys}, or_none=or_none)
    if problem:
        yield Violation("", problem)


RULES: Rules = {
    Source: _source,
}
