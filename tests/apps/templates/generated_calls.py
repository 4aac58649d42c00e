"""Generates calls of the template language's functions, of which many are wrong on purpose."""

from hypothesis import strategies as st

from apps.templates.functions import FUNCTIONS

DATA = {
    "s": "Hello, Wörld", "name": "my-app_v2", "n": 7, "f": 2.5, "t": True,
    "list": ["b", "a", "c", 3], "map": {"a": 1, "b": {"c": "x"}}, "words": "one two  three",
    "json": '{"k": [1, 2.5, null]}',
}  # fmt: skip

NOT_GENERATED = frozenset((
    # In no order in Go.
    "keys", "values",
    # Of what is no time they read the clock.
    "date", "dateInZone", "date_in_zone", "htmlDate", "htmlDateInZone",
    # Of a wrong text sprig makes year 1, and of one without a year, year 0.
    "toDate", "mustToDate",
    # A key behind the one that is missing is not looked at.
    "dig",
    # A size below zero is refused.
    "chunk", "mustChunk",
))  # fmt: skip

_STRINGS = (
    "", "a", "abc", " x ", "Hello", "a,b,c", ",", "-", "12", "1.5", "0x1f", "é", "aXbXc", "X", "k",
    "a.b/c", "/", "fooBar", "HTTP_server 2x", "1.2.3", "^1.2", "v1.0.0-rc.1", "%d|%s", "%05.1f",
    "%x %q", "YWJj", "MFRGG===", "[a-z]+", "(.)b", "$1-", "https://u@h:1/p?q#f", "1h5m", "2006-01",
    "<&>", "{}", "[1,2]", "true", "nil", "a\\nb", "\\t", "string", "int", "slice", "map",
)  # fmt: skip

_INTS = (-3, -1, 0, 1, 2, 3, 5, 8, 10, 64, 100)
_FLOATS = ("0.5", "1.25", "-2.5", "3.7", "1e-7", "123456.75")

_literals = st.one_of(
    *([st.sampled_from(_STRINGS).map(lambda text: f'"{text}"')] * 5),
    *([st.sampled_from(_INTS).map(str)] * 3),
    st.sampled_from(_FLOATS),
    st.sampled_from(("true", "false", "nil")),
    *([st.sampled_from(sorted(DATA)).map(lambda name: f".nuon.{name}")] * 3),
)


def _calls(arguments: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    @st.composite
    def call(draw: st.DrawFn) -> str:
        name = draw(st.sampled_from(sorted(set(FUNCTIONS) - NOT_GENERATED)))
        function = FUNCTIONS[name]
        most = function.least + 2 if function.most is None else function.most
        # The third argument of `round` is a float, as which an int of a call is refused in Go.
        most = 2 if name == "round" else most
        # `index` without an index is lenient.
        least = 2 if name == "index" else function.least
        count = draw(st.integers(least, most))
        return " ".join([name, *(draw(arguments) for _ in range(count))])

    return call()


_inner = _calls(_literals)
_arguments = st.one_of(
    *([_literals] * 4),
    _inner.map(lambda call: f"({call})"),
    st.lists(_literals, max_size=3).map(lambda items: " ".join(["(list", *items]) + ")"),
    st.lists(_literals, max_size=2).map(
        lambda items: (
            "(dict" + "".join(f' "{"ab"[at]}" {item}' for at, item in enumerate(items)) + ")"
        )
    ),
)

calls = st.one_of(_calls(_arguments), st.tuples(_inner, _calls(_literals)).map(" | ".join))
"""A function with arguments, or the result of one piped into another."""
