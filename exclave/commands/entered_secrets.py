"""A secret as somebody types it or sends it from a file: the value that is kept of it."""

from dataclasses import dataclass, field

from activities.secrets.masking import SHORTEST_IN_TEXT
from activities.secrets.words import is_word


class NotASecretText(Exception):
    """What was given cannot be the value of an input."""


@dataclass(frozen=True)
class Entered:
    """What is kept, and what the one who gave it should know."""

    value: str = field(repr=False)
    notes: list[str]


def entered_secret(data: bytes) -> Entered:
    """The text, without a mark of its encoding, with line feeds, and without the last of them.

    Raises:
        NotASecretText: it is empty, no UTF-8, or holds a NUL, which no environment variable can.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise NotASecretText(
            "it is not UTF-8 text. Save it as UTF-8 (Windows PowerShell writes UTF-16), or set the "
            "base64 of it and decode that where it is used: b64dec"
        ) from None
    if "\0" in text:
        raise NotASecretText("it holds a NUL character; set the base64 of it instead")
    notes = []
    if text.startswith("\ufeff"):
        notes.append("The byte order mark at its beginning was left out.")
        text = text.removeprefix("\ufeff")
    if "\r\n" in text:
        notes.append("Its lines ended with CR LF; now they end with LF.")
        text = text.replace("\r\n", "\n")
    text = text.removesuffix("\n")
    if not text:
        raise NotASecretText("standard input was empty")
    if len(text) < SHORTEST_IN_TEXT or is_word(text):
        notes.append(
            "It is so short or so common that it cannot be masked where it stands in other text, "
            "such as a log."
        )
    return Entered(text, notes)
