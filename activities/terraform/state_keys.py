"""The store's keys of a part's Terraform state, and of what is kept with it."""


def state_folder(part: str) -> str:
    """The prefix of all these keys."""
    return f"terraform/{part}/"


def state_key(part: str) -> str:
    """The state."""
    return f"{state_folder(part)}terraform.tfstate"


def lock_key(part: str) -> str:
    """The lock on the state, if it is an object."""
    return f"{state_key(part)}.tflock"


def kept_key(part: str) -> str:
    """The newest copy of the complete state; empty if there was none."""
    return f"{state_folder(part)}kept.tfstate"


def set_aside_key(part: str) -> str:
    """The state that was replaced by an `errored.tfstate`."""
    return f"{state_folder(part)}before-errored.tfstate"


def values_key(part: str) -> str:
    """The values that the part was applied with."""
    return f"{state_folder(part)}values.json"
