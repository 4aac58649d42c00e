"""Builds the syntax tree of a template from its tokens, as Go's text/template/parse does."""

from dataclasses import dataclass, field

from apps.templates.errors import TemplateError
from apps.templates.functions import FUNCTIONS, REFUSED
from apps.templates.lexer import Kind, Token, tokens
from apps.templates.literals import literal
from apps.templates.tree import (
    Action,
    Branch,
    Call,
    Chain,
    Expression,
    Field,
    If,
    Invoke,
    Leave,
    Literal,
    Node,
    Nodes,
    Pipeline,
    Position,
    Range,
    Text,
    Variable,
    With,
)

MAX_TEXT_BYTES = 1_000_000
MAX_NESTING = 100

_MARKS = (".nuon", ".exclave")
_LITERALS = frozenset(
    (Kind.NUMBER, Kind.STRING, Kind.RAW, Kind.CHARACTER),
)
_CONSTANTS = frozenset(("true", "false", "nil"))
_CLOSES = frozenset((Kind.END, Kind.CLOSE, Kind.PIPE))
_KEYWORDS = frozenset(
    ("if", "else", "end", "range", "with", "define", "template", "block", "break", "continue")
)


@dataclass(frozen=True)
class Parsed:
    """The tree of a template, and those of the templates that it defines."""

    nodes: Nodes
    definitions: dict[str, Nodes] = field(default_factory=dict)


def parse_text(text: str) -> Parsed:
    """The syntax tree of a template; a string that names neither root is one text, as it is.

    Raises:
        TemplateError: the template is wrong or too large, or calls what may not be called.
    """
    if not any(mark in text for mark in _MARKS):
        return Parsed((Text(text),) if text else ())
    if len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
        raise TemplateError(f"the template is larger than {MAX_TEXT_BYTES} bytes", 1, 1)
    return _Parser(list(tokens(text))).parsed()


@dataclass(frozen=True)
class _Keyword:
    """An action that ends, or goes on with, what an earlier one began."""

    word: str
    token: Token


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0
        self._ranges = 0
        self._scope: list[str] = [""]
        self._definitions: dict[str, Nodes] = {}

    def parsed(self) -> Parsed:
        nodes, ended = self._nodes(within=None)
        if ended is not None:
            raise _error(f"`{ended.word}` without anything that it could belong to", ended.token)
        return Parsed(nodes, self._definitions)

    def _nodes(self, within: Token | None) -> tuple[Nodes, _Keyword | None]:
        """The nodes up to an `else` or `end`, or up to the end of the text."""
        nodes: list[Node] = []
        while self._at < len(self._tokens):
            token = self._next()
            if token.kind is not Kind.BEGIN:
                _add_text(nodes, token.text)
                continue
            node = self._action()
            if isinstance(node, _Keyword):
                return tuple(nodes), node
            if node is not None:
                nodes.append(node)
        if within is not None:
            raise _error(f"`{within.text}` does not end; it needs `{{{{ end }}}}`", within)
        return tuple(nodes), None

    def _action(self) -> Node | _Keyword | None:  # noqa: PLR0911 - a table of cases
        self._skip_space()
        token = self._peek()
        if token.kind is not Kind.WORD or token.text not in _KEYWORDS:
            return Action(self._pipeline(Kind.END, "a command", declares=1))
        self._next()
        match token.text:
            case "if" | "with":
                return self._branching(token)
            case "range":
                return self._range(token)
            case "template":
                return self._invocation(token)
            case "define" | "block":
                return self._definition(token)
            case "break" | "continue":
                return self._leave(token)
            case "end":
                self._close(token)
            case _:
                self._skip_space()
        return _Keyword(token.text, token)

    def _branching(self, word: Token) -> If | With:
        """`if` or `with`, with all its branches, up to its `end`."""
        scope = len(self._scope)
        branches: list[Branch] = []
        otherwise: Nodes | None = None
        with self._deeper(word):
            while True:
                condition = self._pipeline(Kind.END, f"`{word.text}`", declares=1)
                body, ended = self._nodes(word)
                branches.append(Branch(condition, body))
                if ended is None or ended.word == "end":
                    break
                if self._peek().kind is Kind.WORD and self._peek().text == word.text:
                    self._next()
                    continue
                otherwise = self._last_branch(word, ended)
                break
        del self._scope[scope:]
        return (If if word.text == "if" else With)(tuple(branches), otherwise)

    def _range(self, word: Token) -> Range:
        scope = len(self._scope)
        with self._deeper(word):
            over = self._pipeline(Kind.END, "`range`", declares=2)
            self._ranges += 1
            body, ended = self._nodes(word)
            self._ranges -= 1
            otherwise = None
            if ended is not None and ended.word == "else":
                otherwise = self._last_branch(word, ended)
        del self._scope[scope:]
        return Range(over, body, otherwise)

    def _last_branch(self, word: Token, begun: _Keyword) -> Nodes:
        self._close(begun.token)
        body, ended = self._nodes(word)
        if ended is not None and ended.word != "end":
            raise _error(f"a second `else` of one `{word.text}`", ended.token)
        return body

    def _invocation(self, word: Token) -> Invoke:
        name = self._name(word)
        self._skip_space()
        if self._peek().kind is Kind.END:
            self._next()
            return Invoke(name, None, word.position)
        return Invoke(name, self._pipeline(Kind.END, "`template`"), word.position)

    def _definition(self, word: Token) -> Invoke | None:
        """`define`, or `block`, which is one that is invoked where it stands."""
        if self._depth and word.text == "define":
            raise _error("`define` stands at the top of a template only", word)
        name = self._name(word)
        argument = self._pipeline(Kind.END, "`block`") if word.text == "block" else None
        if argument is None:
            self._close(word)
        outer, ranges = self._scope, self._ranges
        self._scope, self._ranges = [""], 0
        with self._deeper(word):
            body, ended = self._nodes(word)
        self._scope, self._ranges = outer, ranges
        if ended is not None and ended.word != "end":
            raise _error(f"`else` has nothing to do in a `{word.text}`", ended.token)
        is_empty = all(isinstance(node, Text) and not node.text.strip() for node in body)
        if name in self._definitions and not is_empty and self._definitions[name]:
            raise _error(f"the template `{name}` is defined twice", word)
        if not is_empty or name not in self._definitions:
            self._definitions[name] = body
        return Invoke(name, argument, word.position) if argument is not None else None

    def _name(self, word: Token) -> str:
        self._skip_space()
        token = self._next()
        if token.kind not in (Kind.STRING, Kind.RAW):
            raise _error(f"`{word.text}` needs a name in quotes", token)
        return str(literal(token))

    def _leave(self, word: Token) -> Leave:
        if not self._ranges:
            raise _error(f"`{word.text}` outside of a `range`", word)
        self._close(word)
        return Leave(ends=word.text == "break")

    def _close(self, word: Token) -> None:
        self._skip_space()
        token = self._next()
        if token.kind is not Kind.END:
            raise _error(f"unexpected `{token.text}` after `{word.text}`", token)

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
                raise _error(f"unexpected `{token.text}` in {where}", token)
            self._skip_space()
            if self._peek().kind is until:
                continue  # Go takes a `|` at the end for none
            stage = self._command()
            if not isinstance(stage, Call):
                raise _error("only a function can follow `|`", token)
            stages.append(stage)
        if not assigns:
            # Seen from here on: what declares it cannot read it.
            self._scope += names
        pipeline = Pipeline(first, tuple(stages), position, names, assigns)
        _check_arities(pipeline)
        if names == () and isinstance(first, Literal) and first.value is None:
            raise TemplateError("`nil` is no value of its own", position.line, position.column)
        return pipeline

    def _declarations(self, where: str, most: int) -> tuple[tuple[str, ...], bool]:
        """`$a :=`, `$a =`, or `$a, $b :=` if there is one of them."""
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
                raise _error(f"too many variables for {where}", token)
            if self._peek().kind is not Kind.VARIABLE:
                raise _error("a variable is missing after `,`", self._peek())
        self._at = begun
        return (), False

    def _command(self) -> Expression:
        """An operand, or a function with its arguments."""
        self._skip_space()
        token = self._peek()
        if token.kind is Kind.WORD and token.text not in _CONSTANTS:
            call = self._call(self._next())
            if self._peek().kind is Kind.FIELD:
                raise _error(f"unexpected `{self._peek().text}`", self._peek())
            return call
        if token.kind in _CLOSES:
            raise _error(f"a value is missing before `{token.text}`", token)
        operand = self._operand()
        if self._another_argument():
            raise _error(
                f"only a function can take arguments; `{operand}` is a value", self._peek()
            )
        return operand

    def _call(self, name: Token) -> Call:
        _check_function(name)
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
            raise _error(f"unexpected `{token.text}`; separate values by spaces", token)
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
                _check_function(token)
                found = Call(token.text, (), token.position)
            case _:
                raise _error(f"unexpected `{token.text}`", token)
        if self._peek().kind in (Kind.FIELD, Kind.DOT):
            raise _error(f"unexpected `{self._peek().text}` after `{found}`", self._peek())
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
            raise _error(f"there is no variable `${name}` here; declare it: `$x := …`", token)

    def _deeper(self, token: Token) -> "_Depth":
        if self._depth >= MAX_NESTING:
            raise _error(f"nested deeper than {MAX_NESTING}", token)
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
    """Counts a level for as long as it is entered."""

    def __init__(self, parser: _Parser) -> None:
        self._parser = parser

    def __enter__(self) -> None:
        self._parser._depth += 1

    def __exit__(self, *_: object) -> None:
        self._parser._depth -= 1


def _add_text(nodes: list[Node], text: str) -> None:
    if text and nodes and isinstance(nodes[-1], Text):
        nodes[-1] = Text(nodes[-1].text + text)
    elif text:
        nodes.append(Text(text))


def _check_function(token: Token) -> None:
    name = token.text
    if name in FUNCTIONS:
        return
    if name in REFUSED:
        raise _error(f"`{name}` may not be used: it {REFUSED[name]}", token)
    if name in _KEYWORDS:
        raise _error(f"`{name}` stands at the beginning of an action only", token)
    if name in ("nuon", "exclave"):
        raise _error(f"a path begins with a dot: `.{name}`", token)
    # Imported here: it is needed for what is wrong alone, and workers render what is right.
    from apps.spelling import did_you_mean  # noqa: PLC0415

    raise _error(f"there is no function `{name}`{did_you_mean(name, FUNCTIONS)}", token)


def _check_arities(pipeline: Pipeline) -> None:
    calls = [(pipeline.first, 0), *((stage, 1) for stage in pipeline.stages)]
    for call, piped in calls:
        if isinstance(call, Call):
            _check_arity(call, piped)
            for argument in call.arguments:
                if isinstance(argument, Call):
                    _check_arity(argument, 0)


def _check_arity(call: Call, piped: int) -> None:
    function = FUNCTIONS[call.function]
    given = len(call.arguments) + piped
    if given >= function.least and (function.most is None or given <= function.most):
        return
    wanted = f"{function.least}"
    if function.most is None:
        wanted = f"at least {function.least}"
    elif function.most > function.least:
        wanted = f"{function.least} to {function.most}"
    noun = "argument" if wanted.endswith("1") else "arguments"
    at: Position = call.position
    raise TemplateError(
        f"function `{call.function}` takes {wanted} {noun}, got {given}", at.line, at.column
    )


def _error(message: str, token: Token) -> TemplateError:
    return TemplateError(message, token.position.line, token.position.column)
