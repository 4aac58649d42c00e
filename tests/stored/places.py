"""Every place where something is stored: what a later version reads there has a golden.

A `*` stands for one segment of a path, or for a part of one, and `**` for any number of segments.
"""

import re
from collections.abc import Iterable

PLACES = {
    # The customer's store.
    "store/install.json",
    "store/revision.json",
    "store/releases.json",
    "store/release.json",
    "store/provisioned.json",
    "store/sandbox.json",
    "store/components/*.json",
    "store/actions/*.json",
    "store/action-runs/*/*.json",
    "store/inputs/current.json",
    "store/inputs/sensitive.json",
    "store/keys/plan-digest",
    "store/journals/turn.json",
    "store/journals/*/*/*/*.json",
    "store/leases/*.json",
    "store/leases/action/*.json",
    "store/plans/*/*/*/*/record.json",
    "store/plans/*/*/*/*/changes.json",
    "store/plans/*/*/*/*/view.txt",
    "store/plans/*/*/*/*/terraform.tfplan",
    "store/plans/*/*/*/*/terraform.lock.hcl",
    "store/customer/approvals/*/*/*/*.json",
    "store/customer/let-in/*/*/*/*.json",
    "store/customer/journal-heads/*.json",
    "store/terraform/*/terraform.tfstate",
    "store/terraform/*/terraform.tfstate.tflock",
    "store/terraform/*/kept.tfstate",
    "store/terraform/*/before-errored.tfstate",
    "store/terraform/*/values.json",
    # A worker's data folder.
    "worker/machine-id",
    "worker/paused",
    "worker/keys.pem",
    "worker/enrolled.json",
    "worker/runs/*/*/*/*/secrets.json",
    "worker/runs/*/*/*/*/outputs",
    "worker/runs/*/*/*/*/*-*/spec.json",
    "worker/runs/*/*/*/*/*-*/status.json",
    "worker/runs/*/*/*/*/*-*/output.log",
    "worker/runs/*/*/*/*/*-*/snapshot",
    "worker/runs/*/*/*/*/*-*/interrupt",
    "worker/runs/*/*/*/*/*-*/script.*",
    "worker/runs/*/*/*/*/*-*/exit.*",
    "worker/runs/*/*/*/*/*-*/unbegun.*",
    "worker/runs/*/*/*/*/*-*/state-unsaved",
    "worker/runs/*/*/*/*/*-*/state-rescued",
    "worker/work-locks/*/current.json",
    "worker/work-locks/action/*/current.json",
    "worker/work/*/.*.artifact",
    "worker/work/*/*/exclave-*.auto.tfvars*",
    "worker/work/*/*/exclave_backend_override.tf.json",
    "worker/work/*/*/errored.tfstate",
    "worker/worker-journal/*.jsonl",
    "worker/worker-journal/torn-*",
    # A registry.
    "registry/*/oci-layout",
    "registry/*/index.json",
    "registry/*/blobs/sha256/*",
    # A control plane and its gateway.
    "control/keys.json",
    "control/enrolment-key",
    "control/pids.json",
    "control/gateway/gateway.toml",
    "control/gateway/secret",
    "control/gateway/credential-key.pem",
    "control/gateway/access-keys.json",
    "control/gateway/telemetry.sql",
    # What a customer, or whoever runs a build worker, was given.
    "stack/enrolment.toml",
    "stack/enrolment-token",
    "stack/policy.toml",
    "stack/build-worker/enrolment.toml",
    "stack/build-worker/enrolment-token",
    # What lies sealed in histories and in workers' memories.
    "sealed/payload.bin",
    "sealed/org-payload.bin",
    "sealed/worker-keys.json",
    "sealed/task-token.bin",
    "sealed/credential.bin",
}

PASSING = {
    "store/**/.lock": "a lock, without content",
    "store/.incoming": "what is just being written",
    "store/terraform/*/terraform.tfstate.backup": "Terraform's own",
    "store/terraform/*/.terraform.tfstate.lock.info": "Terraform's own",
    "worker/.reserve": "room, without content",
    "worker/terraform.rc": "ours where the operator has none: the same in every version, or theirs",
    "worker/**/*.lock": "a lock, without content",
    "worker/worker-journal/lock": "a lock, without content",
    "worker/releases/**": "a cache of the registry, each file proven by its digest",
    "worker/runs/*/*/*/*/*-*/supervisor.log": "for people",
    "worker/runs/*/*/*/*/*-*/*.json": "what a tool printed, read by the attempt that has run it",
    "worker/work/*/*/.exclave-initialised": "without it, or another, `terraform init` runs again",
    "worker/runs/*/*/*/*/work/**": "where a script works",
    "worker/work/*/*/**": "made of the release, and made again",
}
"""What no later version reads, or can do without, and why."""

UNRECORDED = {
    "Git.output": "git's own files, of a mirror that is fetched again",
    "Git.run": "git's own files, of a mirror that is fetched again",
    "LogKeeper.__init__": "the log of a tool, which is text",
    "Mirror._write": "git's own files, of a mirror that is fetched again",
    "StateFile.restore": "puts back what Terraform had written",
    "Subject.interrupt": "asks as `_ask_to_interrupt` does",
    "Supervisor._run_command": "of a process of its own: test_stored_places looks at one",
    "Supervisor._start": "of a process of its own: test_stored_places looks at one",
    "Trust.spread": "written anew at each start",
    "Workspace.initialised_for": "without it, or another, `terraform init` runs again",
    "_cli_config": "the same in every version, or the operator's own",
    "_keep": "a copy of what Terraform had written",
    "_output": "the log of a process, which is text",
    "_problem": "removed at once: it tries the store",
    "_puts": "removed at once: it tries the store",
    "_write": "the demo's apps; a stack's pages and units; Terraform's lock file of a saved plan",
    "_write_all": "JSON Schema for people's editors",
    "_write_line": "the log of a tool, which is text",
    "has_holes": "removed at once: it tries the file system",
    "hold": "a lock, without content",
    "keep_reserve": "room, without content",
    "open_lock": "a lock, without content",
    "overwrite": "puts in place what its caller has made",
    "start_supervisor": "the log of the supervisor, which is text",
}
"""Functions that write, and that recording goldens does not go through; and why not."""


def place_of(path: str, places: Iterable[str] = PLACES) -> str | None:
    """The place that a path is, or None."""
    return next((one for one in places if _is_at(path, one)), None)


def _is_at(path: str, place: str) -> bool:
    parts = re.split(r"(/?\*\*/?|\*)", place)
    patterns = {"*": "[^/]*", "/**": "/.*", "**/": "(.*/)?", "/**/": "/(.*/)?"}
    return re.fullmatch("".join(patterns.get(p, re.escape(p)) for p in parts), path) is not None
