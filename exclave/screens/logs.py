"""Prints the logs of several tools at once, each line with the name of its operation."""

from apps.display_text import shown_output
from client.run_logs import Operation
from exclave.screens.terminal import Lines


class LogLines:
    """Writes whole lines, although logs arrive in pieces."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._rest: dict[str, tuple[Operation, str]] = {}
        """By key: the line that is not complete yet."""

    def write(self, operation: Operation, text: str) -> None:
        """Take a piece of an operation's log."""
        _, rest = self._rest.pop(operation.key, (operation, ""))
        *whole, rest = (rest + text).split("\n")
        for line in whole:
            self._write(operation, line)
        if rest:
            self._rest[operation.key] = (operation, rest)

    def finish(self) -> None:
        """Write the remaining text, which does not end with a line feed."""
        for operation, rest in self._rest.values():
            self._write(operation, rest)
        self._rest.clear()

    def _write(self, operation: Operation, line: str) -> None:
        self._lines(f"{self._lines.paint(operation.name, bold=True)} | {shown_output(line)}")
