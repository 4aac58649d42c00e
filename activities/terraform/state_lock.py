"""Terraform's lock on a part's state, as Terraform describes it."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class StateLock:
    """A lock and what Terraform wrote about it."""

    id: str
    who: str
    """The holder, as `user@host`."""
    operation: str
    created: float
    """Epoch seconds; 0 if unknown."""
    info: str = ""
    etag: str = ""
    """The etag of the lock's object; empty for a lock that ends with its holder."""

    def __str__(self) -> str:
        if not self.created:
            return self.who
        since = datetime.fromtimestamp(self.created, UTC)
        return f"{self.who} since {since:%Y-%m-%d %H:%M:%S} UTC ({self.operation}, {self.id})"

    @property
    def user(self) -> str:
        """The holder's user, as it states itself; may be empty."""
        return self.who.rpartition("@")[0]

    @property
    def host(self) -> str:
        """The holder's machine, as it states itself."""
        return self.who.rpartition("@")[2]


def parse_lock(content: bytes, etag: str = "") -> StateLock:
    """Parse a lock's description; the etag is that of its object, if it is one."""
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
        # Not as Terraform writes it: nothing can be proven about it, so it is waited for.
        return StateLock("", "an unknown holder", "unknown", 0.0, "", etag)


def _epoch(text: str) -> float:
    """From UTC with up to nine digits of a second; Python accepts only six."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    seconds = datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp()
    return seconds + float(f"0.{fraction}") if fraction else seconds
