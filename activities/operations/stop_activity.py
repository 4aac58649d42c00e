"""`operation.stop`: ends a cancelled operation's tool, and lets no attempt start another."""

from temporalio import activity

from activities.heartbeats import heartbeating
from activities.workplace import Workplace
from contracts import operations
from contracts.operations import StopInput, Stopped


class StopActivities:
    """Runs on the install worker."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=operations.STOP.name)
    async def stop(self, input: StopInput) -> Stopped:
        """Interrupt the operation's tool, wait for its whole tree, and give the lease back.

        Raises:
            LockHeld: the tool runs on another machine, and only a worker there can stop it.
            Unreachable: the store does not answer.
        """
        async with heartbeating() as say:
            say(f"interrupts the tool of {input.subject}, and waits until it is gone")
            interrupted = await self._workplace.operations.stop(input.key, input.subject)
            return Stopped(interrupted=interrupted)
