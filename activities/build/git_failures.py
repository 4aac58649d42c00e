"""Classifies git's failures by their messages, since git exits with the same status for all."""

import re
from enum import Enum
from typing import Final


class Meaning(Enum):
    """What a failure of git means."""

    PASSING = "the address does not answer now"
    REFUSED = "the credentials are missing, or not accepted"
    MISSING = "there is no such repository"
    NO_SUCH_COMMIT = "the server does not provide that commit"
    UNKNOWN = "only git's message says what it is"


_MEANINGS: Final = (
    (
        Meaning.NO_SUCH_COMMIT,
        r"not our ref|unadvertised object|couldn't find remote ref|no such remote ref",
    ),
    (
        Meaning.REFUSED,
        r"Authentication failed|could not read (Username|Password)|terminal prompts disabled"
        r"|Permission denied \(|Host key verification failed|returned error: 40[137]|HTTP Basic"
        r"|Invalid username or (password|token)|askpass|access denied",
    ),
    (
        Meaning.MISSING,
        r"[Rr]epository '?.*'? ?not found|does not appear to be a git repository"
        r"|returned error: 4(04|10)|repository .* does not exist|ERROR: Repository not found"
        r"|does not exist",
    ),
    (
        Meaning.PASSING,
        r"Could not resolve (host|proxy|hostname)|Temporary failure in name resolution|[Cc]ould not"
        r" connect|Couldn't connect|Failed to connect|Connection (refused|reset|timed out|closed)"
        r"|Operation timed out|timed out|Network is unreachable|No route to host|early EOF"
        r"|RPC failed|hung up unexpectedly|unexpected disconnect|returned error: (5\d\d|408|429)"
        r"|SSL_ERROR_SYSCALL|SSL connection timeout|gnutls_handshake|Recv failure|Send failure"
        r"|Empty reply from server|Broken pipe|Could not read from remote repository",
    ),
)


def meaning(said: str) -> Meaning:
    """What a failure means, by git's last lines."""
    return next((found for found, words in _MEANINGS if re.search(words, said)), Meaning.UNKNOWN)
