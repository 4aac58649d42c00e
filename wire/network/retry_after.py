"""How long an HTTP server asks to wait before a retry."""

import time
from email.utils import parsedate_to_datetime


def seconds_of(retry_after: str) -> float:
    """The wait in a `Retry-After` header: seconds or a date (RFC 9110); 0 if it is neither."""
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0
