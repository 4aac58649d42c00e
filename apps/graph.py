"""Which part depends on which: by `dependencies`, and by what templates refer to."""

import heapq
from collections.abc import Mapping

from apps.config.app import AppConfig
from apps.config.base import Model
from apps.config.components import Component
from apps.config.shape import templates
from apps.parts import SANDBOX
from apps.templates.state_paths import Path, ReadsOf, reads_of

_INPUTS: tuple[Path, ...] = (("nuon", "inputs", "inputs"), ("nuon", "install", "inputs"))
_SANDBOX: tuple[Path, ...] = (("nuon", "sandbox"), ("nuon", "install", "sandbox"))

_BY_TYPE = (
    *("container_image", "docker_build", "terraform_module", "pulumi"),
    *("helm_chart", "kubernetes_manifest", "job"),
)
"""The order of components with equally many dependencies: what others are made of comes first."""


class CycleError(Exception):
    """Components depend on each other in a circle; `path` begins and ends with the same one."""

    def __init__(self, path: list[str]) -> None:
        self.path = path
        super().__init__(f"components need each other in a circle: {' → '.join(path)}")


class Graph:
    """The dependency graph of a config's components; the sandbox comes before all of them.

    Raises:
        CycleError: components need each other.
        TemplateError: a template cannot be parsed.
    """

    def __init__(self, config: AppConfig, reads_of: ReadsOf = reads_of) -> None:
        self._references = {
            name: _references(part, reads_of) for name, part in config.parts().items()
        }
        aliases = {c.var_name: c.name for c in config.components if c.var_name}
        names = {c.name: c.name for c in config.components}
        self._reachable = aliases | names
        self._contexts = {one.name: one.component for one in config.kubernetes_contexts}
        self._ranks = {
            c.name: _BY_TYPE.index(c.type) if c.type in _BY_TYPE else len(_BY_TYPE)
            for c in config.components
        }
        self._dependencies = {c.name: self._needs(c) for c in config.components}
        cycle = _find_cycle(self._dependencies)
        if cycle:
            raise CycleError(cycle)

    def dependencies(self, name: str) -> list[str]:
        """The components that `name` needs directly, by name."""
        return list(self._dependencies[name])

    def dependents(self, name: str) -> list[str]:
        """The components that need `name` directly, by name."""
        return sorted(n for n, needs in self._dependencies.items() if name in needs)

    def order(self) -> list[str]:
        """All components, each after those that it needs.

        Of those that could come next, the one with the fewest dependencies is first, then what
        others are made of (images before modules before charts, objects and jobs), then by name.
        """
        waiting = {name: len(needs) for name, needs in self._dependencies.items()}
        dependents: dict[str, list[str]] = {name: [] for name in waiting}
        for name, needs in self._dependencies.items():
            for needed in needs:
                dependents[needed].append(name)
        ready = [self._place(name) for name, count in waiting.items() if count == 0]
        heapq.heapify(ready)
        found: list[str] = []
        while ready:
            *_, name = heapq.heappop(ready)
            found.append(name)
            for dependent in dependents[name]:
                waiting[dependent] -= 1
                if waiting[dependent] == 0:
                    heapq.heappush(ready, self._place(dependent))
        return found

    def _place(self, name: str) -> tuple[int, int, str]:
        return len(self._dependencies[name]), self._ranks[name], name

    def reversed(self) -> list[str]:
        """All components in the order of a teardown: each before those that it needs."""
        return self.order()[::-1]

    def parts_referencing_input(self, name: str) -> list[str]:
        """The parts whose templates read the input, or all inputs at once."""
        return sorted(
            part
            for part, paths in self._references.items()
            if any(_leads_into(path, (*root, name)) for path in paths for root in _INPUTS)
        )

    def reads_sandbox(self, component: str) -> bool:
        """Whether the component's own templates read anything of the sandbox."""
        if SANDBOX not in self._references:
            return False
        paths = self._references[component]
        return any(_leads_into(path, root) for path in paths for root in _SANDBOX)

    def _needs(self, component: Component) -> list[str]:
        """The components that it names, that its templates refer to, and that make its cluster."""
        referenced = (_component_of(path) for path in self._references[component.name])
        cluster = self._contexts.get(component.kubernetes_context or "")
        named = {*component.dependencies, *(name for name in (*referenced, cluster) if name)}
        # Unknown names are reported by the loader.
        return sorted({self._reachable[name] for name in named if name in self._reachable})


def _component_of(path: Path) -> str | None:
    """The component that a template's path leads to, by its name or second name."""
    return path[2] if len(path) > 2 and path[:2] == ("nuon", "components") else None


def _references(part: Model, reads_of: ReadsOf) -> frozenset[Path]:
    return frozenset(read.path for _, text in templates(part) for read in reads_of(text))


def _leads_into(path: Path, root: Path) -> bool:
    """Whether one of the two paths leads into the other."""
    shorter = min(len(path), len(root))
    return path[:shorter] == root[:shorter]


def _find_cycle(dependencies: Mapping[str, list[str]]) -> list[str] | None:
    """A path that begins and ends with the same name, or None."""
    done: set[str] = set()
    for start in sorted(dependencies):
        path: list[str] = []
        on_path: set[str] = set()
        stack = [(start, iter(dependencies[start]))] if start not in done else []
        if stack:
            path.append(start)
            on_path.add(start)
        while stack:
            name, rest = stack[-1]
            following = next((n for n in rest if n not in done), None)
            if following is None:
                stack.pop()
                path.pop()
                on_path.discard(name)
                done.add(name)
            elif following in on_path:
                return [*path[path.index(following) :], following]
            else:
                stack.append((following, iter(dependencies[following])))
                path.append(following)
                on_path.add(following)
    return None
