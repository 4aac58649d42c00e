"""What is wrong with a template, and where."""


class TemplateError(Exception):
    """A template that cannot be parsed or rendered; it never holds a value, only names and types.

    `line` and `column` are counted from 1 and say where in the template's text.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        self.message = message
        self.line = line
        self.column = column
        super().__init__(message, line, column)

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column} of the template: {self.message}"


class FunctionError(Exception):
    """A function that cannot take what it was given; the evaluator says where it was called."""
