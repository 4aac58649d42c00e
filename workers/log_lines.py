"""Log lines of a worker: an exception is told by its type and its stack, never by its words; and
nothing that others chose, an id or an error, can look like a line of the worker's own.

The SDK logs every error of an activity or a workflow as it is, and its words may hold what payloads
are encrypted for. The words reach those who may read them in Temporal.
"""

import logging
import traceback

from activities.customer.audit_chain import TELLS_HEAD, without_heads
from apps.display_text import shown_lines

GUARD = "activities.customer.guard"
"""Whose lines tell heads of the worker's journal; those of any other hold what others chose."""


class WholeLines(logging.Formatter):
    """Formats messages so that what others chose of them begins no line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - of logging
        """The line, shown as what it is (`apps.display_text`); its further lines are set in."""
        record.message = shown_lines(record.message).replace("\n", "\n    ")
        return super().formatMessage(record)


class WordlessExceptions(WholeLines):
    """Formats exceptions without their words."""

    def format(self, record: logging.LogRecord) -> str:
        """One record; what another formatter made of its exception is not taken over."""
        made, record.exc_text = record.exc_text, None
        try:
            line = super().format(record)
            tells_head = record.msg is TELLS_HEAD and record.name == GUARD
            return line if tells_head else without_heads(line)
        finally:
            record.exc_text = made

    def formatException(self, ei: object) -> str:  # noqa: N802 - the name is logging's
        """The stacks of an exception and of what caused it, each with its type."""
        error = ei[1] if isinstance(ei, tuple) else None
        parts: list[str] = []
        seen: set[int] = set()
        while isinstance(error, BaseException) and id(error) not in seen:
            seen.add(id(error))
            parts.append("".join(traceback.format_tb(error.__traceback__)) + _type_of(error))
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\ncaused by\n".join(parts)


def _type_of(error: BaseException) -> str:
    """The type; of a typed error, the one that Temporal shows."""
    told = getattr(error, "type", None)
    name = type(error).__name__
    return f"{name} ({told})" if isinstance(told, str) and told != name else name
