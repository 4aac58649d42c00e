"""sprig's functions of lists. Each gives a new list: the given one is never changed."""

import math
from collections.abc import Callable, Mapping, Sequence

from apps.templates.errors import FunctionError
from apps.templates.functions.equality import identity
from apps.templates.functions.function import ANY, INT, Function, typed
from apps.templates.functions.numbers import to_int
from apps.templates.go_types import List, Lists, NilList, is_empty, items_of, kind_of
from apps.templates.limits import check_items


def _items(value: object) -> Sequence[object]:
    items = items_of(value)
    if items is None:
        kind = "nil" if value is None else f"a {kind_of(value)}"
        raise FunctionError(f"a list is needed, not {kind}")
    return items


def _append(given: object, value: object) -> List:
    return List((*_items(given), value))


def _prepend(given: object, value: object) -> List:
    return List((value, *_items(given)))


def _concat(*given: object) -> List:
    lists = [_items(one) for one in given]
    check_items(sum(map(len, lists)))
    joined = List(item for one in lists for item in one)
    return joined or NilList()


def _first(given: object) -> object:
    items = _items(given)
    return items[0] if items else None


def _last(given: object) -> object:
    items = _items(given)
    return items[-1] if items else None


def _rest(given: object) -> List:
    items = _items(given)
    return List(items[1:]) if items else NilList()


def _initial(given: object) -> List:
    items = _items(given)
    return List(items[:-1]) if items else NilList()


def _reverse(given: object) -> List:
    return List(reversed(_items(given)))


def _compact(given: object) -> List:
    return List(item for item in _items(given) if not is_empty(item))


def _uniq(given: object) -> List:
    seen: set[object] = set()
    kept = List()
    for item in _items(given):
        mark = identity(item)
        if mark not in seen:
            seen.add(mark)
            kept.append(item)
    return kept


def _without(given: object, *omitted: object) -> List:
    marks = {identity(item) for item in omitted}
    return List(item for item in _items(given) if identity(item) not in marks)


def _has(needle: object, haystack: object) -> bool:
    if haystack is None:
        return False
    mark = identity(needle)
    return any(identity(item) == mark for item in _items(haystack))


def _slice(given: object, *indices: object) -> object:
    items = _items(given)
    if not items:
        return None
    start = to_int(indices[0]) if indices else 0
    end = to_int(indices[1]) if len(indices) > 1 else len(items)
    if not 0 <= start <= end <= len(items):
        raise FunctionError(
            f"there are no items from {start} to {end}: the list has {len(items)} items"
        )
    part = items[start:end]
    return retyped(part, given)


def retyped(items: Sequence[object], given: object) -> list[object]:
    """A list of the type that the given one has."""
    is_plain = type(given) is list or isinstance(given, tuple)
    kind: type[list[object]] = List if is_plain else type(given)  # type: ignore[assignment]
    return kind(items)


def _chunk(size: int, given: object) -> Lists:
    items = _items(given)
    if size <= 0:
        # Go divides by the size, and then fails or gives what depends on the machine.
        raise FunctionError("the size must be more than zero")
    count = math.ceil(len(items) / size)
    return Lists(List(items[at * size : (at + 1) * size]) for at in range(count))


def _list(*values: object) -> List:
    return List(values)


def _forms(name: str, function: Function) -> dict[str, Function]:
    """A function and its `must…` form: both fail, since Go's panic is an error of the template."""
    return {name: function, f"must{name[0].upper()}{name[1:]}": function}


_ONE: Mapping[str, Callable[[object], object]] = {
    "first": _first, "last": _last, "rest": _rest, "initial": _initial, "reverse": _reverse,
    "compact": _compact, "uniq": _uniq,
}  # fmt: skip

FUNCTIONS: Mapping[str, Function] = {
    "list": typed(_list, rest=ANY),
    "tuple": typed(_list, rest=ANY),
    "concat": typed(_concat, rest=ANY),
    **_forms("append", typed(_append, ANY, ANY)),
    **_forms("push", typed(_append, ANY, ANY)),
    **_forms("prepend", typed(_prepend, ANY, ANY)),
    **_forms("without", typed(_without, ANY, rest=ANY)),
    **_forms("has", typed(_has, ANY, ANY)),
    **_forms("slice", typed(_slice, ANY, rest=ANY)),
    **_forms("chunk", typed(_chunk, INT, ANY)),
    **{name: both for one in _ONE for name, both in _forms(one, typed(_ONE[one], ANY)).items()},
}
