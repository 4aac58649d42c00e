"""How long an HTTP server wants to be left alone."""

import time
from email.utils import parsedate_to_datetime


def seconds_of(retry_after: str) -> float:
    """Of a `Retry-After`, which has seconds or a date by RFC 9110; 0 where it has neither."""
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0
