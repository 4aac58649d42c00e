"""Builds the syntax tree of a template from its tokens, as Go's text/template/parse does."""

from dataclasses import dataclass, field

from apps.templates.errors import TemplateError
from apps.templates.expressions import ExpressionParser
from apps.templates.lexer import Kind, Token, error_at, tokens
from apps.templates.literals import literal
from apps.templates.signatures import KEYWORDS
from apps.templates.tree import Action, Branch, If, Invoke, Leave, Node, Nodes, Range, Text, With

MAX_TEXT_BYTES = 1_000_000

_MARKS = (".nuon", ".exclave")


@dataclass(frozen=True)
class Parsed:
    """The tree of a template, and those of the templates that it defines."""

    nodes: Nodes
    definitions: dict[str, Nodes] = field(default_factory=dict)


def parse_text(text: str) -> Parsed:
    """The syntax tree of a template; a string without `.nuon` and `.exclave` is just text.

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
    """An `else` or `end`, which continues or ends what an earlier action began."""

    word: str
    token: Token


class _Parser(ExpressionParser):
    def __init__(self, found: list[Token]) -> None:
        super().__init__(found)
        self._ranges = 0
        self._definitions: dict[str, Nodes] = {}

    def parsed(self) -> Parsed:
        nodes, ended = self._nodes(within=None)
        if ended is not None:
            raise error_at(f"`{ended.word}` has nothing before it to belong to", ended.token)
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
            raise error_at(f"`{within.text}` does not end; it needs `{{{{ end }}}}`", within)
        return tuple(nodes), None

    def _action(self) -> Node | _Keyword | None:  # noqa: PLR0911 - a table of cases
        self._skip_space()
        token = self._peek()
        if token.kind is not Kind.WORD or token.text not in KEYWORDS:
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
            raise error_at(f"a second `else` of one `{word.text}`", ended.token)
        return body

    def _invocation(self, word: Token) -> Invoke:
        name = self._name(word)
        self._skip_space()
        if self._peek().kind is Kind.END:
            self._next()
            return Invoke(name, None, word.position)
        return Invoke(name, self._pipeline(Kind.END, "`template`"), word.position)

    def _definition(self, word: Token) -> Invoke | None:
        """`define`, or `block`, which is also invoked in place."""
        if self._depth and word.text == "define":
            raise error_at("`define` is allowed only at the top level of a template", word)
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
            raise error_at(f"`else` is not allowed in a `{word.text}`", ended.token)
        is_empty = all(isinstance(node, Text) and not node.text.strip() for node in body)
        if name in self._definitions and not is_empty and self._definitions[name]:
            raise error_at(f"the template `{name}` is defined twice", word)
        if not is_empty or name not in self._definitions:
            self._definitions[name] = body
        return Invoke(name, argument, word.position) if argument is not None else None

    def _name(self, word: Token) -> str:
        self._skip_space()
        token = self._next()
        if token.kind not in (Kind.STRING, Kind.RAW):
            raise error_at(f"`{word.text}` needs a name in quotes", token)
        return str(literal(token))

    def _leave(self, word: Token) -> Leave:
        if not self._ranges:
            raise error_at(f"`{word.text}` outside of a `range`", word)
        self._close(word)
        return Leave(ends=word.text == "break")

    def _close(self, word: Token) -> None:
        self._skip_space()
        token = self._next()
        if token.kind is not Kind.END:
            raise error_at(f"unexpected `{token.text}` after `{word.text}`", token)


def _add_text(nodes: list[Node], text: str) -> None:
    if text and nodes and isinstance(nodes[-1], Text):
        nodes[-1] = Text(nodes[-1].text + text)
    elif text:
        nodes.append(Text(text))
