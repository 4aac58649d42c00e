"""What tells that a part must be planned again: its config, and the inputs that it reads."""

import hashlib
import hmac
from collections.abc import Mapping

from apps.config.parts import Part
from apps.graph import Graph
from apps.sensitivity import Sensitive


def part_fingerprint(part: Part) -> str:
    """A digest of what the app config says of a component, or of the sandbox.

    Defaults are left out: a field that a later version adds must not plan every component again.
    """
    content = part.model_dump_json(exclude_defaults=True)
    return "sha256:" + hashlib.sha256(content.encode()).hexdigest()


def input_fingerprints(
    graph: Graph, part: str, inputs: Mapping[str, str | Sensitive], key: bytes
) -> dict[str, str]:
    """A keyed digest of each input that the part's templates read.

    Keyed, since a plain hash of a short secret could be guessed.
    """
    return {
        name: hmac.new(key, _text(value).encode(), hashlib.sha256).hexdigest()
        for name, value in inputs.items()
        if part in graph.parts_referencing_input(name)
    }


def _text(value: str | Sensitive) -> str:
    return str(value.value) if isinstance(value, Sensitive) else value
