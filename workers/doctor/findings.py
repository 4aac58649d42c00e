"""What the checks of one place find, in order."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final

from wire.network.probing import SECONDS, Fails

HELD_BACK: Final = (
    "A firewall or proxy on the way may hold it back; have it pass this host's TLS as it is."
)


@dataclass(frozen=True)
class Finding:
    """What came of one check."""

    place: str
    """What it is about, for example `gateway gw.example.com:443`."""
    check: str
    ok: bool
    said: str
    what_to_do: str = ""


class Findings:
    """Of one place, in the order of its checks."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.all: list[Finding] = []

    async def check(self, name: str, step: Awaitable[str]) -> bool:
        """Note what a step says, or why it fails; whether it went well."""
        try:
            said = await asyncio.wait_for(step, SECONDS + 1)
        except Fails as error:
            self.all.append(Finding(self.place, name, False, error.said, error.what_to_do))
            return False
        except TimeoutError:
            words = f"nothing came back within {SECONDS:.0f} s"
            self.all.append(Finding(self.place, name, False, words, HELD_BACK))
            return False
        except Exception as error:
            # One check that cannot be made must not hide the others; its words may hold anything.
            words = f"the check itself failed ({type(error).__name__})"
            self.all.append(Finding(self.place, name, False, words, "Please report this."))
            return False
        self.all.append(Finding(self.place, name, True, said))
        return True
