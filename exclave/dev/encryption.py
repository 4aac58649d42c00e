"""The master keys of the development control plane, and how a person reads plain text."""

from pathlib import Path

from exclave.dev.declaration import Declaration
from wire.encryption.keys import MasterKeys


def keys_file(declaration: Declaration) -> Path | None:
    """The file with the master keys; None if payloads are not encrypted."""
    return declaration.data / "keys.json" if declaration.codec else None


def make_keys(declaration: Declaration) -> None:
    """Make the master keys, unless they exist already.

    Raises:
        KeyFileError: they cannot be made, or the existing ones cannot be used.
    """
    file = keys_file(declaration)
    if file is None:
        return
    if file.exists():
        MasterKeys.read(file)
    else:
        MasterKeys.new().write(file)


def how_to_read(declaration: Declaration) -> str:
    """How a person can see plain text; empty if payloads are not encrypted."""
    if declaration.codec is None:
        return ""
    codec = f"http://{declaration.codec}"
    return f"""
Payloads are encrypted. To see plain text:

  Temporal UI      shows it, in a browser on this machine
  Temporal CLI     temporal workflow show --codec-endpoint {codec} …
  exclave          shows it if EXCLAVE_KEYS is set, as above
"""


def export_keys(declaration: Declaration) -> str:
    """Shell commands that let a person read payloads; empty if payloads are not encrypted."""
    if declaration.codec is None:
        return ""
    return (
        f"\n  export EXCLAVE_KEYS={keys_file(declaration)}"
        f"\n  export TEMPORAL_CODEC_ENDPOINT=http://{declaration.codec}"
    )
