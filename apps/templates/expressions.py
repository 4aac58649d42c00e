"""Parses what is between a template's braces: pipelines, calls and operands."""

from apps.templates.errors import TemplateError
from apps.templates.lexer import Kind, Token, error_at
from apps.templates.literals import literal
from apps.templates.signatures import check_arities, check_function
from apps.templates.tree import Call, Chain, Expression, Field, Literal, Pipeline, Variable

MAX_NESTING = 100

_LITERALS = frozenset(
    (Kind.NUMBER, Kind.STRING, Kind.RAW, Kind.CHARACTER),
)
_CONSTANTS = frozenset(("true", "false", "nil"))
_CLOSES = frozenset((Kind.END, Kind.CLOSE, Kind.PIPE))


class ExpressionParser:
    """Reads tokens one after another, and keeps track of the variables in scope."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0
        self._scope: list[str] = [""]

    def _pipeline(self, until: Kind, where: str, declares: int = 0) -> Pipeline:
        self._skip_space()
        position = self._peek().position
        names, assigns = self._declarations(where, declares) if declares else ((), False)
        first = self._command()
        stages: list[Call] = []
        while True:
            self._skip_space()
            token = self._next()
            if token.kind is until:
                break
            if token.kind is not Kind.PIPE:
                raise error_at(f"unexpected `{token.text}` in {where}", token)
            self._skip_space()
            if self._peek().kind is until:
                continue  # Go takes a `|` at the end for none
            stage = self._command()
            if not isinstance(stage, Call):
                raise error_at("only a function can follow `|`", token)
            stages.append(stage)
        if not assigns:
            # In scope from here on: a variable's own declaration cannot read it.
            self._scope += names
        pipeline = Pipeline(first, tuple(stages), position, names, assigns)
        check_arities(pipeline)
        if names == () and isinstance(first, Literal) and first.value is None:
            raise TemplateError("`nil` is not a value on its own", position.line, position.column)
        return pipeline

    def _declarations(self, where: str, most: int) -> tuple[tuple[str, ...], bool]:
        """The variables of `$a :=`, `$a =` or `$a, $b :=`, if there is one of these."""
        begun = self._at
        names: list[str] = []
        while self._peek().kind is Kind.VARIABLE:
            variable = self._next()
            names.append(variable.text[1:])
            self._skip_space()
            token = self._peek()
            if token.kind in (Kind.DECLARE, Kind.ASSIGN):
                self._next()
                assigns = token.kind is Kind.ASSIGN
                if assigns:
                    for name in names:
                        self._check_declared(name, variable)
                return tuple(names), assigns
            if token.kind is not Kind.COMMA:
                break
            self._next()
            self._skip_space()
            if len(names) == most:
                raise error_at(f"too many variables for {where}", token)
            if self._peek().kind is not Kind.VARIABLE:
                raise error_at("a variable is missing after `,`", self._peek())
        self._at = begun
        return (), False

    def _command(self) -> Expression:
        """An operand, or a function with its arguments."""
        self._skip_space()
        token = self._peek()
        if token.kind is Kind.WORD and token.text not in _CONSTANTS:
            call = self._call(self._next())
            if self._peek().kind is Kind.FIELD:
                raise error_at(f"unexpected `{self._peek().text}`", self._peek())
            return call
        if token.kind in _CLOSES:
            raise error_at(f"a value is missing before `{token.text}`", token)
        operand = self._operand()
        if self._another_argument():
            raise error_at(
                f"only a function can take arguments; `{operand}` is a value", self._peek()
            )
        return operand

    def _call(self, name: Token) -> Call:
        check_function(name)
        arguments: list[Expression] = []
        while self._another_argument():
            arguments.append(self._operand())
        return Call(name.text, tuple(arguments), name.position)

    def _another_argument(self) -> bool:
        had_space = self._skip_space()
        token = self._peek()
        if token.kind in _CLOSES:
            return False
        if not had_space:
            raise error_at(f"unexpected `{token.text}`; separate values by spaces", token)
        return True

    def _operand(self) -> Expression:
        token = self._next()
        found: Expression | None = None
        match token.kind:
            case Kind.FIELD:
                found = Field((token.text[1:], *self._path()), token.position)
            case Kind.VARIABLE:
                self._check_declared(token.text[1:], token)
                found = Variable(token.text[1:], self._path(), token.position)
            case Kind.OPEN:
                found = self._parenthesised(token)
            case Kind.DOT:
                found = Field((), token.position)
            case Kind.WORD if token.text == "nil":
                found = Literal(None, token.position)
            case kind if kind in _LITERALS or token.text in _CONSTANTS:
                found = Literal(literal(token), token.position)
            case Kind.WORD:
                check_function(token)
                found = Call(token.text, (), token.position)
            case _:
                raise error_at(f"unexpected `{token.text}`", token)
        if self._peek().kind in (Kind.FIELD, Kind.DOT):
            raise error_at(f"unexpected `{self._peek().text}` after `{found}`", self._peek())
        return found

    def _parenthesised(self, token: Token) -> Expression:
        with self._deeper(token):
            pipeline = self._pipeline(Kind.CLOSE, "parentheses")
        path = self._path()
        return Chain(pipeline, path, token.position) if path else pipeline

    def _path(self) -> tuple[str, ...]:
        names: list[str] = []
        while self._peek().kind is Kind.FIELD:
            names.append(self._next().text[1:])
        return tuple(names)

    def _check_declared(self, name: str, token: Token) -> None:
        if name not in self._scope:
            raise error_at(f"there is no variable `${name}` here; declare it: `$x := …`", token)

    def _deeper(self, token: Token) -> "_Depth":
        if self._depth >= MAX_NESTING:
            raise error_at(f"nested deeper than {MAX_NESTING}", token)
        return _Depth(self)

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


class _Depth:
    """Counts one more level of nesting while it is entered."""

    def __init__(self, parser: ExpressionParser) -> None:
        self._parser = parser

    def __enter__(self) -> None:
        self._parser._depth += 1

    def __exit__(self, *_: object) -> None:
        self._parser._depth -= 1
