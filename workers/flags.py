"""Flags that several processes of the control side share."""

import argparse
from pathlib import Path

from wire.encryption.key_files import KeyFileError
from wire.encryption.key_ring import KeyRing
from wire.encryption.key_settings import MASTER_VARIABLE, master_keys


def add_keys_flag(parser: argparse.ArgumentParser) -> None:
    """The flag that names the file of the master keys."""
    parser.add_argument(
        "--keys",
        type=Path,
        metavar="FILE",
        help="the master keys that payloads are encrypted with (default: the file in "
        f"{MASTER_VARIABLE}; without one, payloads are not encrypted)",
    )


def keys_of(parser: argparse.ArgumentParser, settings: argparse.Namespace) -> KeyRing | None:
    """The keys that the flags or the environment name; ends the process if they cannot be used."""
    try:
        return master_keys(settings.keys)
    except KeyFileError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
