"""Errors of templates."""


class TemplateError(Exception):
    """A template cannot be parsed or rendered; the message has names and types, but never a value.

    `line` and `column` are counted from 1 in the template's text.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        self.message = message
        self.line = line
        self.column = column
        super().__init__(message, line, column)

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column} of the template: {self.message}"


class FunctionError(Exception):
    """A function cannot take its arguments; the evaluator adds where it was called."""
