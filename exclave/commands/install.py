"""`exclave install`: creates an install, and writes the stack that the customer applies."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from temporalio.exceptions import WorkflowAlreadyStartedError

from apps.display_text import shown_output
from client.control_plane import ControlPlane
from client.enrolment_tokens import fresh_token, write_token
from client.errors import Refused
from client.following import Following
from client.runs import status_of
from contracts.installs import ConnectedWorker, InstallInput
from contracts.names import install_workflow_id
from contracts.stacks import Stack, StorePlace
from exclave.arguments import AppOption, DigestOption, InstallArgument
from exclave.exits import run
from exclave.output import Output, OutputOption, print_json
from exclave.screens.terminal import Lines
from exclave.stack_folder import write_stack

T = TypeVar("T")


def install(
    name: InstallArgument,
    app: AppOption,
    release: DigestOption = None,
    stack: Annotated[
        Path | None,
        typer.Option("--stack", metavar="DIR", help="Write what the customer applies into DIR."),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the install's worker has connected.")
    ] = False,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="The install's store, as s3://BUCKET/PREFIX; by default, a folder on the worker's "
            "machine.",
        ),
    ] = None,
    store_region: Annotated[
        str | None, typer.Option("--store-region", metavar="NAME", help="The bucket's region.")
    ] = None,
    store_endpoint: Annotated[
        str | None,
        typer.Option(
            "--store-endpoint", metavar="URL", help="For a store that speaks S3 but is not AWS."
        ),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Create an install of an app, and write the stack that its customer applies.

    With --release, inputs can be set before the first deploy. An existing install is left as it is;
    its stack can be written again at any time. Behind a gateway, each time also writes a fresh
    one-time token, with which the worker enrols; older ones stay valid until they expire.

    Example:

        exclave install acme --app shop --release $RELEASE --stack acme-stack

        exclave install acme --app shop --wait

        exclave install acme --app shop --store s3://acme-exclave/shop --stack acme-stack
    """
    if store is None and (store_region or store_endpoint):
        raise typer.BadParameter("--store-region and --store-endpoint need --store")
    place = StorePlace(url=store, region=store_region, endpoint=store_endpoint) if store else None
    wanted = InstallInput(install=name, app=app, release=release, store=place)
    run(_install(wanted, stack, wait, output))


async def _install(input: InstallInput, folder: Path | None, wait: bool, output: Output) -> None:
    plane = await ControlPlane.reach()
    says = Lines(err=True)
    began = await _begin(plane, input)
    says(_began(input) if began else _was_there(input))
    answer: dict[str, Any] = {"install": input.install, "app": input.app, "began": began}
    waiting = _Waiting(plane, input.install, says)
    if began or folder is not None:
        # The stack is rendered last when an install begins, so once it is there, all went well.
        stack = await waiting.until(lambda: _stack(plane, input.install))
        if folder is not None:
            files = write_stack(stack, folder)
            answer["stack"] = {"folder": str(folder), "files": files}
            says(f"The stack ({stack.kind}) is in {folder}: {', '.join(files)}")
            if stack.token_file:
                answer["token"] = await _token(
                    plane, input.install, folder / stack.token_file, says
                )
    if wait:
        says("Waiting for the install's worker to connect.")
        worker = await waiting.until(lambda: _worker(plane, input.install))
        answer["worker"] = worker.model_dump(mode="json")
        says(f"The worker on {worker.description.host} is connected.")
    if output is Output.JSON:
        print_json(answer)


async def _token(plane: ControlPlane, install: str, path: Path, says: Lines) -> dict[str, str]:
    token, minted = await fresh_token(plane, f"install/{install}")
    write_token(path, token)
    says(f"A fresh one-time token for its worker is in {path}; it expires at {minted.expires}.")
    return {"file": str(path), "expires": minted.expires}


async def _begin(plane: ControlPlane, input: InstallInput) -> bool:
    """Start Install; returns False if it is already running for the same app."""
    workflow_id = install_workflow_id(input.install)
    summary = f"the install {input.install} of {input.app}"
    try:
        await plane.start("Install", workflow_id, input, summary=summary)
    except WorkflowAlreadyStartedError:
        app = (await status_of(plane, input.install)).app
        if app != input.app:
            raise Refused(
                f"There is already an install {input.install!r}, of the app {app!r}; choose "
                "another name."
            ) from None
        return False
    return True


def _began(input: InstallInput) -> str:
    return f"The install {input.install} begins."


def _was_there(input: InstallInput) -> str:
    given = [f"--{key}" for key in ("release", "store") if getattr(input, key) is not None]
    ignored = f"; {' and '.join(given)} had no effect" if given else ""
    return f"The install {input.install} already exists{ignored}."


class _Waiting:
    """Waits for something from an Install, looking again whenever its history has news."""

    def __init__(self, plane: ControlPlane, install: str, says: Lines) -> None:
        self._plane = plane
        self._install = install
        self._says = says
        self._printed: set[str] = set()

    async def until(self, look: Callable[[], Awaitable[T | None]]) -> T:
        """What `look` finds, once it finds something.

        Raises:
            Refused: the install has ended first.
        """
        following = Following(self._plane, install_workflow_id(self._install))
        async for one in following.snapshots():
            if one.end is not None:
                raise Refused(f"The install {self._install} has ended: {one.end.message}")
            found = await look()
            if found is not None:
                return found
            for words in (one.trouble, *(f"{of}: {note}" for of, note in one.notes.items())):
                self._print_once(words)
        raise AssertionError("the last snapshot has the end")

    def _print_once(self, words: str) -> None:
        if words and words not in self._printed:
            self._printed.add(words)
            self._says.block(shown_output(words), rest="  ")


async def _stack(plane: ControlPlane, install: str) -> Stack | None:
    try:
        return await plane.ask(install_workflow_id(install), "stack", Stack)
    except Refused:
        # Not rendered yet; if there is trouble, the pending activity says so.
        return None


async def _worker(plane: ControlPlane, install: str) -> ConnectedWorker | None:
    return (await status_of(plane, install)).worker
