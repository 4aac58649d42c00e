"""sprig's functions of maps. `set`, `unset` and the merges change the map that they are given."""

from collections.abc import Mapping, MutableMapping

from apps.templates.errors import FunctionError
from apps.templates.functions.function import ANY, MAP, SET_MAP, STRING, Function, typed
from apps.templates.functions.lists import retyped
from apps.templates.go_types import List, Map, StringMap, Strings, is_empty
from apps.templates.limits import Budget, check_depth, check_items
from apps.templates.printing import printed

_Map = Mapping[str, object]


def _dict(*given: object) -> Map:
    made = Map()
    for at in range(0, len(given), 2):
        made[printed(given[at])] = given[at + 1] if at + 1 < len(given) else ""
    return made


def _get(of: _Map, key: str) -> object:
    return of.get(key, "")


def _changeable(of: _Map) -> MutableMapping[str, object]:
    if not isinstance(of, MutableMapping):
        raise FunctionError("the map cannot be changed; make a copy of it with `deepCopy`")
    return of


def _set(of: _Map, key: str, value: object) -> _Map:
    check_items(len(of) + 1)
    _changeable(of)[key] = value
    return of


def _unset(of: _Map, key: str) -> _Map:
    _changeable(of).pop(key, None)
    return of


def _pluck(key: str, *maps: _Map) -> List:
    return List(one[key] for one in maps if key in one)


def _keys(*maps: _Map) -> Strings:
    # In no order, in Go. A plan must give the same each time, so here they are sorted.
    check_items(sum(map(len, maps)))
    return Strings(key for one in maps for key in sorted(one))


def _values(of: _Map) -> List:
    return List(of[key] for key in sorted(of))


def _pick(of: _Map, *keys: str) -> Map:
    return Map((key, of[key]) for key in keys if key in of)


def _omit(of: _Map, *keys: str) -> Map:
    left_out = frozenset(keys)
    return Map((key, value) for key, value in of.items() if key not in left_out)


def _dig(*given: object) -> object:
    *keys, fallback, found = given
    for at, key in enumerate(keys):
        if not isinstance(key, str):
            raise FunctionError("each key must be a string")
        if not isinstance(found, Mapping) or isinstance(found, StringMap):
            where = f"the value of key {at}" if at else "the last argument"
            raise FunctionError(f"{where} is not a map")
        if key not in found:
            return fallback
        found = found[key]
    return found


def _merge(into: _Map, *sources: _Map) -> _Map:
    for source in sources:
        _merged(_changeable(into), source, 0, overwrite=False)
    return into


def _merge_overwrite(into: _Map, *sources: _Map) -> _Map:
    for source in sources:
        _merged(_changeable(into), source, 0, overwrite=True)
    return into


def _merged(
    into: MutableMapping[str, object], source: _Map, depth: int, *, overwrite: bool
) -> None:
    """As mergo: maps within maps are merged; what is empty is replaced, or everything."""
    check_depth(depth)
    check_items(len(into) + len(source))
    for key in sorted(source):
        value, present = source[key], into.get(key)
        if value is None:
            if overwrite:
                into[key] = value
            continue
        if isinstance(value, Mapping) and isinstance(present, MutableMapping) and present:
            if type(value) is not type(present) and StringMap in (type(value), type(present)):
                raise FunctionError("maps of different types cannot be merged")
            _merged(present, value, depth + 1, overwrite=overwrite)
        elif overwrite or is_empty(present):
            into[key] = value


def _deep_copy(value: object) -> object:
    """A copy that shares no list and no map with the value."""
    if value is None:
        raise FunctionError("nil cannot be copied")
    return _copied(value, Budget(), 0)


def _copied(value: object, budget: Budget, depth: int) -> object:
    match value:
        case StringMap():
            return StringMap(value)
        case Mapping():
            budget.visit(len(value), depth)
            return Map((key, _copied(item, budget, depth + 1)) for key, item in value.items())
        case list() | tuple():
            budget.visit(len(value), depth)
            items = [_copied(item, budget, depth + 1) for item in value]
            return retyped(items, value)
    return value


_COPY = typed(_deep_copy, ANY)
_MERGE = typed(_merge, MAP, rest=MAP)
_MERGE_OVERWRITE = typed(_merge_overwrite, MAP, rest=MAP)

FUNCTIONS: Mapping[str, Function] = {
    "dict": typed(_dict, rest=ANY),
    "get": typed(_get, MAP, STRING),
    "set": typed(_set, SET_MAP, STRING, ANY),
    "unset": typed(_unset, MAP, STRING),
    "hasKey": typed(lambda of, key: key in of, MAP, STRING),
    "pluck": typed(_pluck, STRING, rest=MAP),
    "keys": typed(_keys, rest=MAP),
    "values": typed(_values, MAP),
    "pick": typed(_pick, MAP, rest=STRING),
    "omit": typed(_omit, MAP, rest=STRING),
    "dig": Function(_dig, 3, None),
    "merge": _MERGE,
    "mustMerge": _MERGE,
    "mergeOverwrite": _MERGE_OVERWRITE,
    "mustMergeOverwrite": _MERGE_OVERWRITE,
    "deepCopy": _COPY,
    "mustDeepCopy": _COPY,
}
