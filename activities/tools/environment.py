"""What every tool gets of the worker's environment, whatever engine runs it: the way out.

No secret is in it, but a proxy's password where the machine has one: that is masked.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from wire.network.egress import secrets_of_proxies
from wire.network.trust import VARIABLES

_PASSED_ON = (
    "PATH",
    # Of tools, some read the one and some the other.
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"),
    *("https_proxy", "http_proxy", "no_proxy"),
    *VARIABLES,
)


def defaults() -> dict[str, str]:
    """What tools get unless the app config says otherwise."""
    zone = os.environ.get("TZ")
    return {"LANG": "C.UTF-8", **({"TZ": zone} if zone else {})}


def passed_on() -> dict[str, str]:
    """The part of the worker's environment that tools get."""
    return {name: value for name in _PASSED_ON if (value := os.environ.get(name))}


def tool_environment(home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a tool that the app config may add to.

    Args:
        home: A folder of the run's own.
        extra: What the app config sets, rendered; it wins over defaults alone.
    """
    return {**defaults(), **extra, **passed_on(), "HOME": str(home)}


def secrets_passed_on() -> list[str]:
    """What of that must not be shown."""
    return secrets_of_proxies()
