"""Which functions a template may call, and with how many arguments."""

from apps.templates.errors import TemplateError
from apps.templates.functions import FUNCTIONS, REFUSED
from apps.templates.lexer import Token, error_at
from apps.templates.tree import Call, Pipeline

KEYWORDS = frozenset(
    ("if", "else", "end", "range", "with", "define", "template", "block", "break", "continue")
)


def check_function(token: Token) -> None:
    """Refuse a word that names no function that a template may call.

    Raises:
        TemplateError: why, and what may have been meant.
    """
    name = token.text
    if name in FUNCTIONS:
        return
    if name in REFUSED:
        raise error_at(f"`{name}` may not be used: it {REFUSED[name]}", token)
    if name in KEYWORDS:
        raise error_at(f"`{name}` is allowed only at the beginning of an action", token)
    if name in ("nuon", "exclave"):
        raise error_at(f"a path begins with a dot: `.{name}`", token)
    # Imported here, since only mistakes need it, and workers render templates without mistakes.
    from apps.spelling import did_you_mean  # noqa: PLC0415

    raise error_at(f"there is no function `{name}`{did_you_mean(name, FUNCTIONS)}", token)


def check_arities(pipeline: Pipeline) -> None:
    """Refuse a call with more or fewer arguments than its function takes.

    Raises:
        TemplateError: naming the function, and what it takes.
    """
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
    at = call.position
    raise TemplateError(
        f"function `{call.function}` takes {wanted} {noun}, got {given}", at.line, at.column
    )
