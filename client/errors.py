"""How a call to the control plane fails: it was refused, or nobody answered."""


class CallFailed(Exception):
    """A call failed; the message is a sentence for a person, and says what to do next."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Refused(CallFailed):
    """What was asked for is refused, or failed."""


class Away(CallFailed):
    """Something that the call needs does not answer."""
