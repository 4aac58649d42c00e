"""Asking a person at the terminal, while everything else goes on."""

import asyncio
import os
import sys
import termios

from exclave.screens.terminal import write


def can_ask() -> bool:
    """Whether a person sits at the terminal: they can be asked, and see the question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask(question: str) -> str | None:
    """The line that is typed after the question; None where the terminal says that none comes.

    What was typed before the question was seen is thrown away: it was no answer to it.
    """
    descriptor = sys.stdin.fileno()
    termios.tcflush(descriptor, termios.TCIFLUSH)
    write(question, err=True, ends_line=False)
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        if not typed.done():
            # The terminal gives whole lines.
            typed.set_result(os.read(descriptor, 4096))

    loop.add_reader(descriptor, read)
    try:
        line = await typed
    finally:
        loop.remove_reader(descriptor)
        if not typed.done():
            write(err=True)
    return line.decode(errors="replace").strip() if line else None
