"""Gets a fresh one-time token for a worker: minted by the control side, sealed to this command."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from client.control_plane import ControlPlane
from client.errors import Refused
from contracts.access import MINT_TOKEN, MintedToken, MintToken
from contracts.names import CONTROL_QUEUE
from stacks.enrolment import TOKEN_FILE
from stacks.systemd import ENROLMENT
from wire.enrolment.sealing import CannotUnseal, encoded, unseal
from wire.enrolment.token import sealed_about
from wire.private_files import write_whole


async def fresh_token(
    plane: ControlPlane, subject: str, hours: float = 24.0
) -> tuple[str, MintedToken]:
    """A token that was never used, and its details that may be shown.

    Raises:
        Refused: the control plane mints no tokens.
        Away: no control worker answers.
    """
    key = X25519PrivateKey.generate()
    asked = MintToken(
        subject=subject,
        seal_to=encoded(key.public_key().public_bytes_raw()),
        lifetime_seconds=round(hours * 3600),
    )
    minted = await plane.do(MINT_TOKEN, asked, queue=CONTROL_QUEUE, whose="The control worker")
    try:
        token = unseal(minted.sealed, key, sealed_about("token", subject)).decode("ascii")
    except (CannotUnseal, UnicodeDecodeError) as error:
        raise Refused("The control worker's answer is not sealed to this command.") from error
    return token, minted


def write_token(path: Path, token: str) -> None:
    """Write a token, replacing an older one; only the file's owner can read it.

    Raises:
        Refused: it cannot be written.
    """
    try:
        write_whole(path, f"{token}\n".encode("ascii"))
    except OSError as error:
        raise Refused(f"The token cannot be written: {error.filename}: {error.strerror}") from error


def write_build_worker(folder: Path, enrolment: str, token: str) -> None:
    """Write the enrolment file and the token that a build worker is started with.

    Raises:
        Refused: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / ENROLMENT).write_text(enrolment, encoding="ascii")
    except OSError as error:
        raise Refused(
            f"The enrolment cannot be written: {error.filename}: {error.strerror}"
        ) from error
    write_token(folder / TOKEN_FILE, token)
