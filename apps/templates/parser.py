"""Builds the syntax tree of a template from its tokens."""

import re

from apps.templates.errors import TemplateError
from apps.templates.functions import FUNCTIONS
from apps.templates.lexer import Kind, Token, tokens
from apps.templates.tree import (
    Action,
    Call,
    Chain,
    Expression,
    Field,
    Literal,
    Node,
    Pipeline,
    Position,
    Text,
)

MAX_TEXT_BYTES = 1_000_000
MAX_NESTING = 200

_MARKS = (".nuon", ".exclave")
_KEYWORDS = frozenset(
    (
        "if",
        "else",
        "end",
        "range",
        "with",
        "define",
        "template",
        "block",
        "break",
        "continue",
        "nil",
    )
)
_INT64 = range(-(2**63), 2**63)


def parse_nodes(text: str) -> tuple[Node, ...]:
    """The syntax tree of a template; a string that names neither root is one text, as it is.

    Raises:
        TemplateError: the template is wrong, too large, or uses what is not supported yet.
    """
    if not any(mark in text for mark in _MARKS):
        return (Text(text),) if text else ()
    if len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
        raise TemplateError(f"the template is larger than {MAX_TEXT_BYTES} bytes", 1, 1)
    return _Parser(list(tokens(text))).nodes()


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0

    def nodes(self) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while self._at < len(self._tokens):
            token = self._next()
            if token.kind is Kind.BEGIN:
                nodes.append(Action(self._pipeline(Kind.END)))
            elif token.text and nodes and isinstance(nodes[-1], Text):
                nodes[-1] = Text(nodes[-1].text + token.text)
            elif token.text:
                nodes.append(Text(token.text))
        return tuple(nodes)

    def _pipeline(self, until: Kind) -> Pipeline:
        position = self._peek().position
        first = self._command(is_first=True)
        stages: list[Call] = []
        while True:
            self._skip_space()
            token = self._next()
            if token.kind is until:
                return self._checked(Pipeline(first, tuple(stages), position))
            if token.kind is not Kind.PIPE:
                raise _error(f"unexpected `{token.text}`", token)
            stage = self._command(is_first=False)
            if not isinstance(stage, Call):
                raise _error("only a function can follow `|`", token)
            stages.append(stage)

    def _command(self, *, is_first: bool) -> Expression:
        """An operand, or a function with its arguments."""
        self._skip_space()
        token = self._peek()
        if token.kind is Kind.WORD and token.text not in ("true", "false"):
            return self._call(self._next())
        if token.kind in (Kind.END, Kind.CLOSE, Kind.PIPE):
            raise _error(f"a value is missing before `{token.text}`", token)
        operand = self._operand()
        if self._another_argument():
            what = "a function" if is_first else "that"
            raise _error(f"only {what} can take arguments; `{operand}` is a value", self._peek())
        return operand

    def _call(self, name: Token) -> Call:
        _check_function(name)
        arguments: list[Expression] = []
        while self._another_argument():
            arguments.append(self._operand())
        position = Position(name.position.line, name.position.column)
        return Call(name.text, tuple(arguments), position)

    def _another_argument(self) -> bool:
        had_space = self._skip_space()
        token = self._peek()
        if token.kind in (Kind.END, Kind.CLOSE, Kind.PIPE):
            return False
        if not had_space:
            raise _error(f"unexpected `{token.text}`; separate values by spaces", token)
        return True

    def _operand(self) -> Expression:
        token = self._next()
        if token.kind is Kind.FIELD:
            path = (token.text[1:], *self._path())
            return Field(path, token.position)
        if token.kind is Kind.OPEN:
            return self._parenthesised(token)
        if token.kind in (Kind.NUMBER, Kind.STRING, Kind.RAW) or token.text in ("true", "false"):
            return Literal(_literal(token), token.position)
        if token.kind is Kind.WORD:
            _check_function(token)
            return Call(token.text, (), token.position)
        raise _error(f"unexpected `{token.text}`", token)

    def _parenthesised(self, token: Token) -> Expression:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise _error(f"parentheses are nested deeper than {MAX_NESTING}", token)
        pipeline = self._pipeline(Kind.CLOSE)
        self._depth -= 1
        path = self._path()
        return Chain(pipeline, path, token.position) if path else pipeline

    def _path(self) -> tuple[str, ...]:
        names: list[str] = []
        while self._peek().kind is Kind.FIELD:
            names.append(self._next().text[1:])
        return tuple(names)

    def _checked(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline, once the number of arguments of its calls is right."""
        calls = [(pipeline.first, 0), *((stage, 1) for stage in pipeline.stages)]
        for call, piped in calls:
            if isinstance(call, Call):
                _check_arity(call, piped)
                for argument in call.arguments:
                    if isinstance(argument, Call):
                        _check_arity(argument, 0)
        return pipeline

    def _skip_space(self) -> bool:
        found = False
        while self._peek().kind is Kind.SPACE:
            self._at += 1
            found = True
        return found

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token


def _check_function(token: Token) -> None:
    if token.text in FUNCTIONS:
        return
    supported = ", ".join(sorted(FUNCTIONS))
    if token.text in _KEYWORDS:
        raise _error(f"`{token.text}` is not supported yet", token)
    if token.text in ("nuon", "exclave"):
        raise _error(f"a path begins with a dot: `.{token.text}`", token)
    raise _error(f"function `{token.text}` is not supported yet; supported: {supported}", token)


def _check_arity(call: Call, piped: int) -> None:
    function = FUNCTIONS[call.function]
    given = len(call.arguments) + piped
    if given < function.least or (function.most is not None and given > function.most):
        raise TemplateError(
            f"function `{call.function}` takes at least {function.least} arguments, got {given}",
            call.position.line,
            call.position.column,
        )


def _literal(token: Token) -> str | int | float | bool:
    if token.kind is Kind.WORD:
        return token.text == "true"
    if token.kind is Kind.RAW:
        return token.text[1:-1].replace("\r", "")
    if token.kind is Kind.STRING:
        return _unquote(token)
    return _number(token)


def _number(token: Token) -> int | float:
    text = token.text
    try:
        if re.fullmatch(r"[+-]?\d[\d_]*", text) and len(text) < 100:
            # A leading zero means octal in Go.
            digits = text.lstrip("+-")
            octal = len(digits) > 1 and digits[0] == "0"
            number: int | float = int(text, 8 if octal else 10)
        elif re.match(r"[+-]?0[xXoObB]", text):
            number = int(text, 0)
        else:
            number = float(text)
    except ValueError:
        raise _error(f"`{text}` is not a number", token) from None
    if isinstance(number, int) and number not in _INT64:
        raise _error(f"`{text}` does not fit into 64 bits", token)
    if number in (float("inf"), float("-inf")):
        raise _error(f"`{text}` is too large", token)
    return number


_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)
_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", '"': '"',
}  # fmt: skip


def _unquote(token: Token) -> str:
    def bytes_of(match: re.Match[str]) -> str:
        byte, short, long, octal, simple = match.groups()
        if simple is not None:
            if simple not in _SIMPLE:
                raise _error(f"unknown escape `\\{simple}` in a string", token)
            return _SIMPLE[simple]
        if short or long:
            code = int(short or long, 16)
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                raise _error("an escape in a string names no character", token)
            return chr(code)
        # Bytes are kept as surrogates until the whole string is known to be UTF-8.
        code = int(byte, 16) if byte else int(octal, 8)
        if code > 0xFF:
            raise _error("an escape in a string names no byte", token)
        return chr(code) if code < 0x80 else chr(0xDC00 + code)

    text = _ESCAPE.sub(bytes_of, token.text[1:-1])
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        raise _error("the string is not UTF-8", token) from None


def _error(message: str, token: Token) -> TemplateError:
    return TemplateError(message, token.position.line, token.position.column)
