"""Terraform's lock on a part's state, as it writes of it."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class StateLock:
    """What is written of a lock."""

    id: str
    who: str
    """`user@host`, as Terraform calls its holder."""
    operation: str
    created: float
    """Epoch seconds; 0 where it is not told."""
    info: str = ""
    etag: str = ""
    """Of the object; empty for a lock that goes with its holder."""

    def __str__(self) -> str:
        if not self.created:
            return self.who
        since = datetime.fromtimestamp(self.created, UTC)
        return f"{self.who} since {since:%Y-%m-%d %H:%M:%S} UTC ({self.operation}, {self.id})"

    @property
    def user(self) -> str:
        """The holder's user, by its own word; may be empty."""
        return self.who.rpartition("@")[0]

    @property
    def host(self) -> str:
        """The holder's machine, by its own word."""
        return self.who.rpartition("@")[2]


def parse_lock(content: bytes, etag: str = "") -> StateLock:
    """Read what is written of a lock; the etag is its object's, where it is one."""
    try:
        found = json.loads(content)
        return StateLock(
            id=str(found["ID"]),
            who=str(found["Who"]),
            operation=str(found["Operation"]).removeprefix("OperationType"),
            created=_epoch(str(found["Created"])),
            info=str(found.get("Info", "")),
            etag=etag,
        )
    except (ValueError, KeyError, TypeError):
        # Not as Terraform writes it: nothing of it is proven, so it is waited for.
        return StateLock("", "somebody whom it does not name", "unknown", 0.0, "", etag)


def _epoch(told: str) -> float:
    """Of UTC with up to nine digits of a second; Python takes six."""
    whole, _, fraction = told.removesuffix("Z").partition(".")
    seconds = datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp()
    return seconds + float(f"0.{fraction}") if fraction else seconds
