"""Asks a person at the terminal, without blocking anything else."""

import asyncio
import os
import sys
import termios

from exclave.screens.terminal import write


def can_ask() -> bool:
    """Whether a person at a terminal can see a question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask(question: str) -> str | None:
    """The line typed after the question; None at the end of input.

    Whatever was typed before the question appeared is discarded, since it is no answer to it.
    """
    descriptor = sys.stdin.fileno()
    termios.tcflush(descriptor, termios.TCIFLUSH)
    write(question, err=True, ends_line=False)
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        if not typed.done():
            # A terminal delivers whole lines.
            typed.set_result(os.read(descriptor, 4096))

    loop.add_reader(descriptor, read)
    try:
        line = await typed
    finally:
        loop.remove_reader(descriptor)
        if not typed.done():
            write(err=True)
    return line.decode(errors="replace").strip() if line else None
