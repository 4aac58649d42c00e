"""Where in the store the Terraform state of a part lies, and what is kept beside it."""


def state_folder(part: str) -> str:
    """What all these keys begin with."""
    return f"terraform/{part}/"


def state_key(part: str) -> str:
    """The state."""
    return f"{state_folder(part)}terraform.tfstate"


def lock_key(part: str) -> str:
    """The lock on the state, where it is an object."""
    return f"{state_key(part)}.tflock"


def kept_key(part: str) -> str:
    """The newest copy of the whole state; empty where there was none."""
    return f"{state_folder(part)}kept.tfstate"


def set_aside_key(part: str) -> str:
    """The state that was replaced by an `errored.tfstate`."""
    return f"{state_folder(part)}before-errored.tfstate"


def values_key(part: str) -> str:
    """What the part was applied with."""
    return f"{state_folder(part)}values.json"
