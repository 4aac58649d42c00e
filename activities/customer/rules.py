"""The customer's policy, which the worker reads again each time it needs it."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import PolicyDenied
from contracts.messages import WorkerDescription
from stacks.policy import POLICY, Policy, PolicyError


def rules_of(enrolment: Path, policy: Path | None = None) -> "Rules":
    """The policy of a worker with that enrolment file.

    Args:
        enrolment: The worker's enrolment file; if there is a policy, it is in the same folder.
        policy: The policy file, if it is elsewhere; then it must exist.
    """
    if policy is not None:
        return Rules(policy.absolute(), required=True)
    return Rules(enrolment.absolute().parent / POLICY)


@dataclass(frozen=True)
class Rules:
    """The policy file."""

    path: Path | None = None
    """None means that there is no such file, and the defaults apply."""
    required: bool = False
    """Whether a missing file is an error; otherwise the defaults apply."""

    def policy(self) -> Policy:
        """The policy as it is now; blocks.

        Raises:
            PolicyError: the file cannot be read, or has a wrong key.
        """
        return Policy.read(self.path, required=self.required) if self.path else Policy()

    def why_not_out_of_reach(self) -> str | None:
        """Why this user, as whom a release's scripts run too, could change the policy, as a text;
        None if they cannot. Blocks."""
        if self.path is None:
            return None
        if os.geteuid() == 0:
            return "the worker runs as root, so that its tools can change any policy"
        if os.access(self.path, os.W_OK, effective_ids=True):
            return f"{self.path} can be changed by the worker's own user"
        below = self.path
        for folder in self.path.parents:
            is_anothers = below.exists() and below.stat().st_uid != os.geteuid()
            kept_apart = is_anothers and bool(folder.stat().st_mode & stat.S_ISVTX)
            if os.access(folder, os.W_OK, effective_ids=True) and not kept_apart:
                return f"{below} can be replaced by the worker's own user, who may write {folder}"
            below = folder
        return None

    def binding(self) -> Policy:
        """The policy to apply to something that changes the install; blocks.

        Raises:
            PolicyDenied: the policy cannot be read, so nothing is allowed.
        """
        try:
            return self.policy()
        except PolicyError as error:
            raise PolicyDenied(
                f"Nothing is changed while the customer's policy cannot be used: {error}. Correct "
                "it on the worker's machine, and run this again; no restart is needed."
            ) from None

    def allows_traces(self) -> bool:
        """Whether traces may be sent; False while the policy cannot be read. Blocks."""
        try:
            return self.policy().traces
        except PolicyError:
            return False

    def shown_in(self, description: WorkerDescription) -> WorkerDescription:
        """The worker's description, with whose approval is needed and what keys are set; blocks."""
        try:
            policy = self.policy()
        except PolicyError:
            return description.model_copy(update={"rules": ["cannot be read"]})
        shown = {"approval": policy.approval, "rules": policy.rules()}
        return description.model_copy(update=shown)
