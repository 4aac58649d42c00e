"""The real gateway, whose credentials live for seconds.

python -m tests.workers.short_credentials SECONDS gateway.toml
"""

# First: gRPC reads environment variables as it is imported, which this one's import sets.
from workers import admission  # isort: split

import sys
from datetime import timedelta
from functools import partial

from gateway import credentials


def main() -> None:
    """Serve as the gateway does."""
    lifetime = timedelta(seconds=float(sys.argv.pop(1)))
    short = partial(credentials.GatewayCredentials, lifetime=lifetime)
    vars(admission)["GatewayCredentials"] = short
    credentials._LEEWAY_SECONDS = 0
    admission.main()


if __name__ == "__main__":
    main()
