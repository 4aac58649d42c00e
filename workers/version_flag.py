"""The flag `--version`, shared by all programs."""

import argparse
from importlib.metadata import version


def add_version_flag(parser: argparse.ArgumentParser) -> None:
    """Add a flag that prints the version of the installed distribution and exits."""
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('exclave')}")
