"""The texts that people send along with a command: who they are, and why they send it."""

from apps.display_text import is_hidden, shown
from contracts.errors import BadInput


def require_words(**words: str) -> None:
    """Refuse texts with invisible characters; called by the validators of updates.

    Args:
        words: Texts by the argument's key. Line feeds are allowed.

    Raises:
        BadInput: a text has an invisible character; names its key and the character.
    """
    for key, text in words.items():
        hidden = next((one for one in text.replace("\n", "") if is_hidden(one)), None)
        if hidden is not None:
            raise BadInput(
                f"`{key}` contains an invisible character, {shown(hidden)}; leave it out."
            )
