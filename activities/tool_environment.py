"""What every tool gets of the worker's environment, whatever engine runs it: no secret is in it."""

import os

_PASSED_ON = ("PATH", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE")


def defaults() -> dict[str, str]:
    """What tools get unless the app config says otherwise."""
    zone = os.environ.get("TZ")
    return {"LANG": "C.UTF-8", **({"TZ": zone} if zone else {})}


def passed_on() -> dict[str, str]:
    """The part of the worker's environment that tools get."""
    return {name: value for name in _PASSED_ON if (value := os.environ.get(name))}
