"""The results of the checks, in order."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final

from wire.network.probing import SECONDS, Fails

HELD_BACK: Final = (
    "A firewall or proxy on the way may block it; exempt this host from TLS inspection."
)


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    place: str
    """What was checked, for example `gateway gw.example.com:443`."""
    check: str
    ok: bool
    said: str
    what_to_do: str = ""


class Findings:
    """The results for one place, in the order of its checks."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.all: list[Finding] = []

    async def check(self, name: str, step: Awaitable[str]) -> bool:
        """Run a step, and record what it reports or why it fails; returns whether it succeeded."""
        try:
            said = await asyncio.wait_for(step, SECONDS + 1)
            found = Finding(self.place, name, True, said)
        except Fails as error:
            found = Finding(self.place, name, False, error.said, error.what_to_do)
        except TimeoutError:
            words = f"nothing came back within {SECONDS:.0f} s"
            found = Finding(self.place, name, False, words, HELD_BACK)
        except Exception as error:
            # One broken check must not hide the others; its message may contain anything.
            words = f"the check itself failed ({type(error).__name__})"
            found = Finding(self.place, name, False, words, "Please report this.")
        self.all.append(found)
        return found.ok
