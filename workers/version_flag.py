"""The flag `--version` of every program of ours."""

import argparse
from importlib.metadata import version


def add_version_flag(parser: argparse.ArgumentParser) -> None:
    """Print the version of the installed distribution, and leave."""
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('exclave')}")
