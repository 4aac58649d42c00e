"""Rules for single tables that go beyond the types of their keys."""

from collections.abc import Iterator

from apps.checks.rules import account, actions, components, installs, sources
from apps.checks.violations import Rules, Violation
from apps.config.base import Model
from apps.config.shape import inner_tables, shape

_RULES: Rules = {
    **sources.RULES,
    **components.RULES,
    **account.RULES,
    **actions.RULES,
    **installs.RULES,
}


def violations_of(model: Model) -> Iterator[Violation]:
    """All violations within a model and the models below it."""
    for base in type(model).__mro__:
        rule = _RULES.get(base)
        if rule is not None:
            yield from rule(model)
    for name, slot in shape(type(model)).items():
        if slot.inner is not None:
            for at, inner in inner_tables(getattr(model, name), slot, name):
                yield from (violation.beneath(at) for violation in violations_of(inner))
