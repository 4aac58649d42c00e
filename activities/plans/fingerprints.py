"""Fingerprints of a part's config and inputs: if they change, the part must be planned again."""

import hashlib
import hmac
from collections.abc import Mapping

from apps.config.parts import Part
from apps.graph import Graph
from apps.sensitivity import Sensitive


def part_fingerprint(part: Part) -> str:
    """A digest of a part's section of the app config.

    Defaults are left out, so that a field which a later version adds does not change it.
    """
    content = part.model_dump_json(exclude_defaults=True)
    return "sha256:" + hashlib.sha256(content.encode()).hexdigest()


def input_fingerprints(
    graph: Graph, part: str, inputs: Mapping[str, str | Sensitive], key: bytes
) -> dict[str, str]:
    """A digest of each input that the part's templates read.

    The digests are keyed, since a plain hash of a short secret could be guessed.
    """
    return {
        name: hmac.new(key, _text(value).encode(), hashlib.sha256).hexdigest()
        for name, value in inputs.items()
        if part in graph.parts_referencing_input(name)
    }


def _text(value: str | Sensitive) -> str:
    return str(value.value) if isinstance(value, Sensitive) else value
