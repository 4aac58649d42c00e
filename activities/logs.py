"""`operation.log`: what the tools of an operation printed, a page at a time, without secrets."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from temporalio import activity

from activities.heartbeats import heartbeating
from activities.masking import Mask
from activities.operations.spec import OUTPUT_FILE
from activities.terraform.backend import backend_secrets
from activities.terraform.changes import read_changes
from activities.terraform.secrets import KnownSecrets
from activities.terraform.state_file import StateFile
from activities.workplace import Workplace
from contracts import logs
from contracts.errors import BadInput, NotThere
from contracts.logs import LOG_PAGE_BYTES, LogPage, ReadLog
from store.interface import check_key, is_key
from store.journal import Entry, Journal

LONGEST_WAIT_SECONDS = 30.0

_LOOK_AGAIN_SECONDS = 0.2
"""The output of a tool is a file: its growth is no event."""

_AROUND_BYTES = 16 * 1024
"""How much of the output around a page is looked at for secrets that cross its borders."""


class LogActivities:
    """Runs on the install worker, which keeps what tools print."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=logs.READ_LOG.name)
    async def read(self, input: ReadLog) -> LogPage:
        """A page of what the operation's tools printed; waits for something new if asked to.

        Raises:
            NotThere: nothing was begun under the key, or it is forgotten.
            BadInput: the key has a form that none has.
        """
        if not is_key(input.key) or input.position < 0:
            raise BadInput(f"{input.key!r} at {input.position} is no place in an operation's log.")
        patience = min(input.wait_seconds, LONGEST_WAIT_SECONDS)
        async with heartbeating():
            while True:
                page = await asyncio.to_thread(self._page, input)
                if page.text or page.ended or patience <= 0:
                    return page
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
                patience -= _LOOK_AGAIN_SECONDS

    def _page(self, input: ReadLog) -> LogPage:
        entry = Journal(self._workplace.store).entry(check_key(input.key))
        if entry is None:
            raise NotThere(f"Nothing was begun under {input.key}, or it is forgotten by now.")
        has_ended = entry.outcome is not None
        output = Output(self._pieces(input.key, entry))
        readable = output.size if has_ended else output.whole_lines()
        end = output.page_end(input.position, readable)
        if end <= input.position:
            return LogPage(
                text="", position=input.position, ended=has_ended and input.position >= output.size
            )
        text = output.masked(input.position, end, self._mask(input.key))
        return LogPage(text=text, position=end, ended=has_ended and end >= output.size)

    def _pieces(self, key: str, entry: Entry) -> list["_Piece"]:
        """A heading for each run, and its output where it is on this machine."""
        found: list[_Piece] = []
        for run in entry.runs:
            folder = self._workplace.data / "runs" / key / f"{run.number}-{run.label}"
            heading = f"-- {run.label} (run {run.number})"
            if run.machine != self._workplace.operations.machine.id:
                found.append(_Piece(f"{heading}: on another machine, which keeps what it said\n"))
            elif not folder.is_dir():
                found.append(_Piece(f"{heading}: what it said is no longer kept\n"))
            else:
                found.append(_Piece(f"{heading}\n", folder / OUTPUT_FILE))
        return found

    def _mask(self, key: str) -> Mask:
        """Everything that is known to be secret of the part that the operation worked on."""
        store, (run, part) = self._workplace.store, key.split("/")[:2]
        known = [*self._workplace.state.secrets_of_any_release(), *backend_secrets(store)]
        secrets = KnownSecrets(Mask.of(known), StateFile(store, part))
        for plan in store.list(f"plans/{run}/{part}/"):
            found = store.get(plan) if plan.endswith("/changes.json") else None
            if found is not None:
                secrets.learn_plan(read_changes(found.data))
        return secrets.mask()


@dataclass(frozen=True)
class _Piece:
    """A heading of ours, and the file that follows it."""

    heading: str
    file: Path | None = None


class Output:
    """Pieces one after the other, as one text that only grows at its end."""

    def __init__(self, pieces: Sequence[_Piece]) -> None:
        self._spans: list[tuple[int, int, bytes | Path]] = []
        at = 0
        for piece in pieces:
            heading = piece.heading.encode()
            self._spans.append((at, at + len(heading), heading))
            at += len(heading)
            if piece.file is not None and piece.file.exists():
                size = piece.file.stat().st_size
                self._spans.append((at, at + size, piece.file))
                at += size
        self.size = at

    def whole_lines(self) -> int:
        """Where the last line that is finished ends; the next may be half of a secret."""
        start = max(0, self.size - LOG_PAGE_BYTES)
        tail = self._read(start, self.size)
        cut = tail.rfind(b"\n")
        if cut >= 0:
            return start + cut + 1
        # A line without end: of what is that long, only the newest is held back.
        return max(0, self.size - _AROUND_BYTES) if start else 0

    def page_end(self, position: int, readable: int) -> int:
        """Where a page ends that begins there: at the end of a line, if it holds one."""
        if position + LOG_PAGE_BYTES >= readable:
            return readable
        end = position + LOG_PAGE_BYTES
        cut = self._read(position, end).rfind(b"\n")
        return position + cut + 1 if cut >= 0 else end

    def masked(self, start: int, end: int, mask: Mask) -> str:
        """The text between the two without secrets, also those that cross its borders."""
        before = self._read(max(0, start - _AROUND_BYTES), start).decode(errors="replace")
        page = self._read(start, end).decode(errors="replace")
        after = self._read(end, min(self.size, end + _AROUND_BYTES)).decode(errors="replace")
        return mask.within(before + page + after, len(before), len(before) + len(page))

    def _read(self, start: int, end: int) -> bytes:
        found = []
        for begin, stop, content in self._spans:
            low, high = max(start, begin), min(end, stop)
            if low < high:
                found.append(_part(content, low - begin, high - begin))
        return b"".join(found)


def _part(content: bytes | Path, start: int, end: int) -> bytes:
    if isinstance(content, bytes):
        return content[start:end]
    with content.open("rb") as file:
        file.seek(start)
        return file.read(end - start)
