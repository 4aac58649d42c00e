"""The identity of this machine and its current boot, by which leases name their holder."""

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wire.private_files import make_private_folder, write_private

_MACHINE_ID: Final = Path("/etc/machine-id")
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Machine:
    """A machine and one boot of it."""

    id: str
    boot: str
    """Empty if the system does not provide it; then a reboot is not noticed, and locks decide."""

    @classmethod
    def here(cls, data: Path) -> "Machine":
        """This machine, for the worker with the data folder `data`.

        Containers may share their image's machine id, so a random id in the data folder is mixed
        in. Workers of one host that share the data folder are the same machine.
        """
        # Imported late: each supervisor of a tool imports this module, but needs no OpenSSL.
        import hashlib  # noqa: PLC0415

        own = _own_id(data)
        system = _MACHINE_ID.read_text().strip() if _MACHINE_ID.is_file() else ""
        return cls(hashlib.sha256(f"{system} {own}".encode()).hexdigest()[:32], this_boot())


def _own_id(data: Path) -> str:
    make_private_folder(data)
    path = data / "machine-id"
    if not path.exists():
        candidate = data / f".machine-id-{os.urandom(8).hex()}"
        write_private(candidate, os.urandom(16).hex().encode())
        # Another worker that starts at the same time may be faster; then its id is used.
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(candidate)
        candidate.unlink()
    return path.read_text().strip()


def this_boot() -> str:
    """The id of this machine's current boot; empty if the system does not provide one."""
    if _BOOT_ID.is_file():
        return _BOOT_ID.read_text().strip()
    if sys.platform != "darwin":
        return ""
    # Not kern.boottime, which changes when the clock is set.
    asked = subprocess.run(
        ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"],
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip()
