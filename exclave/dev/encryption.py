"""What encryption needs in the development control plane: its master keys, and where they lie."""

from pathlib import Path

from exclave.dev.declaration import Declaration
from wire.encryption.keys import MasterKeys


def keys_file(declaration: Declaration) -> Path | None:
    """The file of the master keys; None where payloads are plain."""
    return declaration.data / "keys.json" if declaration.codec else None


def make_keys(declaration: Declaration) -> None:
    """Make the master keys, unless they are there from before.

    Raises:
        KeyFileError: they cannot be made, or those that are there cannot be used.
    """
    file = keys_file(declaration)
    if file is None:
        return
    if file.exists():
        MasterKeys.read(file)
    else:
        MasterKeys.new().write(file)


def how_to_read(declaration: Declaration) -> str:
    """What a person does to see plain text; nothing where payloads are plain."""
    if declaration.codec is None:
        return ""
    codec = f"http://{declaration.codec}"
    return f"""
Payloads are encrypted. To see plain text:

  Temporal UI      shows it, in a browser on this machine
  Temporal CLI     temporal workflow show --codec-endpoint {codec} …
  exclave          shows it where EXCLAVE_KEYS names the keys, as above
"""


def export_keys(declaration: Declaration) -> str:
    """The lines by which a person's shell reads payloads; none where those are plain."""
    if declaration.codec is None:
        return ""
    return (
        f"\n  export EXCLAVE_KEYS={keys_file(declaration)}"
        f"\n  export TEMPORAL_CODEC_ENDPOINT=http://{declaration.codec}"
    )
