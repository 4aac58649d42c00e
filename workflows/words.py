"""The words that people send with what they do: who they are, and why."""

from apps.display_text import is_hidden, shown
from contracts.errors import BadInput


def require_words(**words: str) -> None:
    """Refuse words that would not be shown as they are; called by the validators of updates.

    Args:
        words: By the argument's key. Line feeds are no fault.

    Raises:
        BadInput: naming the key, and what is wrong.
    """
    for key, text in words.items():
        hidden = next((one for one in text.replace("\n", "") if is_hidden(one)), None)
        if hidden is not None:
            raise BadInput(
                f"`{key}` holds a character that shows nothing of itself, {shown(hidden)}; write "
                "it without."
            )
