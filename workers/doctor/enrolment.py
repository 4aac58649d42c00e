"""Checks whether a worker is enrolled, or could enrol, without using up its token."""

import time
from pathlib import Path
from typing import Final

from stacks.enrolment import TOKEN_FILE, Enrolment
from wire.enrolment.client import AnswerForged, GatewayAway, GatewayRefused
from wire.enrolment.token import EnrolmentToken, InvalidToken, TokenId
from wire.enrolment.worker_identity import IdentityUnusable
from wire.network.probing import Fails
from wire.network.trust import Trust
from workers.gateway_access import IDENTITY_FOLDER, enrolling_of

WORKERS_USER: Final = "Run this as the worker's own user: runuser -u exclave -- exclave worker …"
_ASK_AGAIN: Final = "Ask for a fresh one: exclave access token FILE --install INSTALL."


async def enrolled_or_able(
    enrolment: Enrolment, enrolment_file: Path, data: Path, trust: Trust
) -> str:
    """Whether the worker is enrolled and gets credentials, or has what it needs to enrol.

    Raises:
        Fails: neither.
    """
    try:
        # Without keys it is not enrolled; this check must not create them.
        if (data / IDENTITY_FOLDER / "keys.pem").exists():
            enrolling = enrolling_of(enrolment, enrolment_file, data, trust)
            if enrolling.payload_keys() is not None:
                answer = await enrolling.calls.credential()
                return f"enrolled; it gets credentials, valid for {answer.seconds / 60:.0f} min"
    except (IdentityUnusable, PermissionError) as error:
        raise Fails(str(error), WORKERS_USER) from None
    except GatewayAway as error:
        raise Fails(f"enrolled, but {error}", "See the checks of the gateway.") from None
    except (GatewayRefused, AnswerForged) as error:
        raise Fails(f"enrolled, but refused: {error}", "Ask the vendor; see above.") from None
    if enrolment.cloud is not None:
        return f"not enrolled yet; it can enrol by its {enrolment.cloud} identity"
    return _token(enrolment, enrolment_file.with_name(TOKEN_FILE))


def _token(enrolment: Enrolment, file: Path) -> str:
    try:
        named = TokenId.parse(EnrolmentToken.parse(file.read_text(encoding="utf-8")).id)
    except FileNotFoundError:
        raise Fails(f"not enrolled, and {file} does not exist", _ASK_AGAIN) from None
    except (OSError, UnicodeDecodeError):
        raise Fails(f"not enrolled, and {file} cannot be read", WORKERS_USER) from None
    except InvalidToken as error:
        raise Fails(f"not enrolled, and {file}: {error}", _ASK_AGAIN) from None
    if (named.org, named.subject) != (enrolment.namespace, enrolment.subject):
        raise Fails(f"the token is for {named.subject} of {named.org}", _ASK_AGAIN)
    if named.expires < time.time():
        raise Fails("not enrolled, and the token has expired", _ASK_AGAIN)
    return f"not enrolled yet; it has a token, valid for {_hours(named.expires)} h"


def _hours(expires: float) -> str:
    return f"{(expires - time.time()) / 3600:.0f}"
