"""The part of the worker's environment that every tool gets, to reach the network.

The only secret in it may be a proxy's password, which is masked.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from wire.network.egress import secrets_of_proxies
from wire.network.trust import VARIABLES

_PASSED_ON = (
    "PATH",
    # Some tools read the upper-case names, others the lower-case ones.
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"),
    *("https_proxy", "http_proxy", "no_proxy"),
    *VARIABLES,
)


def defaults() -> dict[str, str]:
    """Variables that tools get unless the app config sets them."""
    zone = os.environ.get("TZ")
    return {"LANG": "C.UTF-8", **({"TZ": zone} if zone else {})}


def passed_on() -> dict[str, str]:
    """The part of the worker's environment that tools get."""
    return {name: value for name in _PASSED_ON if (value := os.environ.get(name))}


def tool_environment(home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The complete environment of a tool, to which the app config may add.

    Args:
        home: A folder for this run only.
        extra: What the app config sets, rendered; it overrides the defaults, but nothing else.
    """
    return {**defaults(), **extra, **passed_on(), "HOME": str(home)}


def secrets_passed_on() -> list[str]:
    """The secrets in `passed_on`; they are masked."""
    return secrets_of_proxies()
