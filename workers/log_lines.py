"""Formats a worker's log lines without the messages of exceptions, and without forged lines.

The SDK logs every error of an activity or a workflow, and its message may contain the very secrets
for which payloads are encrypted. So only type and stack are logged; the message is in Temporal, for
those who may read it. And no text that others chose, such as an id, can look like a log line.
"""

import logging
import traceback

from activities.customer.audit_chain import HEAD_MESSAGE, without_heads
from apps.display_text import shown_lines

GUARD = "activities.customer.guard"
"""The only logger that may write heads of the audit log; others log text that others chose."""


class WholeLines(logging.Formatter):
    """Formats messages so that text in them that others chose cannot begin a line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - of logging
        """The message, made harmless by `apps.display_text`; its further lines are indented."""
        record.message = shown_lines(record.message).replace("\n", "\n    ")
        return super().formatMessage(record)


class WordlessExceptions(WholeLines):
    """Formats exceptions without their messages."""

    def format(self, record: logging.LogRecord) -> str:
        """Format one record, ignoring the cached exception text of other formatters."""
        made, record.exc_text = record.exc_text, None
        try:
            line = super().format(record)
            is_head = record.msg is HEAD_MESSAGE and record.name == GUARD
            return line if is_head else without_heads(line)
        finally:
            record.exc_text = made

    def formatException(self, ei: object) -> str:  # noqa: N802 - the name is logging's
        """The stacks and types of an exception and of its causes."""
        error = ei[1] if isinstance(ei, tuple) else None
        parts: list[str] = []
        seen: set[int] = set()
        while isinstance(error, BaseException) and id(error) not in seen:
            seen.add(id(error))
            parts.append("".join(traceback.format_tb(error.__traceback__)) + _type_of(error))
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\ncaused by\n".join(parts)


def _type_of(error: BaseException) -> str:
    """The type's name and, for a typed error, the type that Temporal shows."""
    shown = getattr(error, "type", None)
    name = type(error).__name__
    return f"{name} ({shown})" if isinstance(shown, str) and shown != name else name
