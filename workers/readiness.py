"""Announces that a process is ready to whoever started it: by one line on an inherited pipe.

`exclave dev` (or any other supervisor) gives the process the write end of a pipe and puts its
number into `EXCLAVE_READY_FD`. Nobody has to poll, and a process that dies first closes the pipe.
"""

import os

READY_VARIABLE = "EXCLAVE_READY_FD"
READY_LINE = b"ready\n"


def announce_ready() -> None:
    """Announce once that this process is ready.

    Does nothing if `EXCLAVE_READY_FD` is unset or blank. The variable is removed from the
    environment, so that processes started from here do not announce in this one's place.

    Raises:
        ValueError: the variable names no open file descriptor.
    """
    value = os.environ.pop(READY_VARIABLE, "").strip()
    if not value:
        return
    try:
        descriptor = int(value)
        os.fstat(descriptor)
    except (ValueError, OSError) as error:
        raise ValueError(
            f"{READY_VARIABLE}={value!r} names no open file descriptor; unset it, or set it to the "
            "number of a pipe's write end that this process inherits"
        ) from error
    try:
        os.write(descriptor, READY_LINE)
    except BrokenPipeError:
        # The supervisor is gone; that is no reason for a worker to stop working.
        return
    finally:
        os.close(descriptor)
