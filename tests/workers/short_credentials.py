"""The real gateway, with credentials that live for seconds.

python -m tests.workers.short_credentials SECONDS gateway.toml
"""

# First, since this module sets environment variables that gRPC reads when it is imported.
from workers import gateway_main  # isort: split

import sys
from datetime import timedelta
from functools import partial

from gateway.enrolment import credentials


def main() -> None:
    """Serve as the gateway does."""
    lifetime = timedelta(seconds=float(sys.argv.pop(1)))
    short = partial(credentials.GatewayCredentials, lifetime=lifetime)
    vars(gateway_main)["GatewayCredentials"] = short
    credentials._LEEWAY_SECONDS = 0
    gateway_main.main()


if __name__ == "__main__":
    main()
