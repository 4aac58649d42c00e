"""Shared by the customer's commands: the worker's store, policy, audit log and data folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from activities.customer.audit_log import FOLDER, AuditLog
from activities.customer.rules import Rules, rules_of
from client.errors import Refused
from exclave.exits import ending
from stacks.enrolment import Enrolment, EnrolmentError
from stacks.policy import PolicyError
from store.errors import StoreError
from store.interface import Store
from store.machine import Machine
from store.opening import open_store

EnrolmentOption = Annotated[
    Path, typer.Option("--enrolment", metavar="FILE", help="The worker's enrolment file.")
]
DataOption = Annotated[
    Path,
    typer.Option(
        "--data", metavar="DIR", exists=True, file_okay=False, help="The worker's data folder."
    ),
]


@dataclass(frozen=True)
class WorkerMachine:
    """An install worker's machine, for the customer who works on it."""

    install: str
    store: Store
    rules: Rules
    audit_log: AuditLog
    data: Path

    @property
    def machine_id(self) -> str:
        """The machine's id, as the worker uses it."""
        return Machine.here(self.data).id

    def require_workers_user(self) -> None:
        """Refuse to write files that the worker could not read, since only their owner may.

        Raises:
            Refused: the worker's data folder belongs to another user.
        """
        owner = self.data.stat().st_uid
        if owner != os.geteuid():
            raise Refused(
                f"{self.data} belongs to another user; run the command as the worker's own "
                "user, for example: runuser -u exclave -- exclave worker …"
            )


@contextmanager
def at_worker(enrolment: Path, data: Path, policy: Path | None = None) -> Iterator[WorkerMachine]:
    """The machine of that worker; errors end the command with their message."""
    with ending():
        try:
            enrolled = Enrolment.read(enrolment)
            data = data.resolve()
            yield WorkerMachine(
                install=enrolled.install,
                store=open_store(enrolled.store_description(data)),
                rules=rules_of(enrolment, policy),
                audit_log=AuditLog(data / FOLDER),
                data=data,
            )
        except (EnrolmentError, PolicyError, StoreError) as error:
            raise Refused(str(error)) from error
        except PermissionError as error:
            raise Refused(
                f"{error.filename} is closed to this user; run the command as the worker's own "
                "user, for example: runuser -u exclave -- exclave worker …"
            ) from error
