"""Network namespaces of the kernel, and what is done within them."""

import ctypes
import errno
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")

_PREFIX = "exclave-test-"
_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
_NETNS = Path("/run/netns")
_ETC = Path("/etc/netns")

HOW_TO_GET_NAMESPACES = (
    "These tests make network namespaces: run them as root on Linux (in a container with "
    "CAP_NET_ADMIN and CAP_SYS_ADMIN), with iproute2 (Debian: apt-get install iproute2)."
)


def demand_namespaces() -> None:
    """Fail, and say what is missing, where none can be made; remove what dead runs left."""
    if os.geteuid() != 0 or any(shutil.which(tool) is None for tool in ("ip", "ss")):
        pytest.fail(HOW_TO_GET_NAMESPACES)
    for left in _NETNS.glob(f"{_PREFIX}*"):
        owner = left.name.removeprefix(_PREFIX).partition("-")[0]
        if not Path(f"/proc/{owner}").exists():
            # Another process of the tests may be doing the same.
            subprocess.run(["ip", "netns", "delete", left.name], capture_output=True, check=False)
            _forget_files(left.name)


def _forget_files(name: str) -> None:
    shutil.rmtree(_ETC / name, ignore_errors=True)
    # Others' namespaces may have files there, too; then it stays.
    with suppress(OSError):
        _ETC.rmdir()


def ip(*argv: str) -> None:
    done = subprocess.run(["ip", *argv], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(argv)}: {done.stderr}\n{HOW_TO_GET_NAMESPACES}"


@dataclass(frozen=True)
class Namespace:
    """One machine's network, or one router's."""

    name: str

    @staticmethod
    def add(role: str) -> "Namespace":
        """One that no other process of the tests has; its loopback is up, as on every machine."""
        made = Namespace(f"{_PREFIX}{os.getpid()}-{role}")
        ip("netns", "add", made.name)
        made.ip("link", "set", "lo", "up")
        return made

    def remove(self) -> None:
        ip("netns", "delete", self.name)
        _forget_files(self.name)

    def ip(self, *argv: str) -> None:
        ip("-n", self.name, *argv)

    def forward(self) -> None:
        """Pass packets on, as a router does."""

        def switch_on() -> None:
            for switch in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
                Path("/proc/sys/net", switch).write_text("1")

        self.inside(switch_on)

    def etc(self, file: str, text: str) -> None:
        """What processes that are started in it find as /etc/FILE.

        The file is written in place: those that run have this very file mounted.
        """
        path = _ETC / self.name / file
        with suppress(FileNotFoundError):
            path.parent.mkdir(parents=True, exist_ok=True)
        # Once more: another process of the tests may just have removed the empty folder above it.
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @property
    def command(self) -> tuple[str, ...]:
        """What a command that runs in it begins with; it becomes the command itself."""
        return ("ip", "netns", "exec", self.name)

    def inside(self, work: Callable[[], T]) -> T:
        """Do something in it; a socket stays where it was made."""
        ended: Future[T] = Future()

        def enter_and_work() -> None:
            try:
                with (_NETNS / self.name).open() as file:
                    if _LIBC.setns(file.fileno(), _CLONE_NEWNET) != 0:
                        raise OSError(ctypes.get_errno(), HOW_TO_GET_NAMESPACES)
                ended.set_result(work())
            except BaseException as error:  # it is raised where the work was asked for
                ended.set_exception(error)

        # Only this thread goes there, and it never comes back.
        threading.Thread(target=enter_and_work, daemon=True).start()
        return ended.result()

    def listener(self, address: str, port: int) -> socket.socket:
        def listen() -> socket.socket:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            return socket.create_server((address, port), family=family, backlog=128)

        return self.inside(listen)

    def why_unreachable(self, address: str, port: int) -> str:
        """The kernel's word for why there is no connection from it; empty where there is one."""

        def dial() -> str:
            try:
                socket.create_connection((address, port), timeout=5).close()
            except OSError as error:
                return os.strerror(error.errno) if error.errno else str(error)
            return ""

        return self.inside(dial)

    def open_ports(self, address: str, source: str) -> list[int]:
        """All of a host's TCP ports that do not refuse who dials from an address of its own."""

        def dial_all() -> list[int]:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            found = []
            for port in range(1, 65536):
                with socket.socket(family) as one:
                    one.settimeout(5)
                    one.bind((source, 0))
                    if one.connect_ex((address, port)) != errno.ECONNREFUSED:
                        found.append(port)
            return found

        return self.inside(dial_all)

    def sockets(self, *flags: str) -> list[list[str]]:
        """What `ss` lists, a list of words for each."""
        done = subprocess.run(
            [*self.command, "ss", "-H", "-n", *flags], capture_output=True, text=True, check=True
        )
        return [line.split() for line in done.stdout.splitlines()]
