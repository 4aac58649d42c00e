"""Faults of the state's bucket are recognised in Terraform's messages."""

from pathlib import Path

import pytest

from activities.operations.status import ToolEnd
from activities.terraform.backends.registry import backend_of
from activities.terraform.store_faults import lost_the_lock
from store.opening import open_store, s3_description
from store.s3_place import S3Place

pytestmark = pytest.mark.usefixtures("s3_environment")

HELD = """
Error: Error acquiring the state lock

Error message: operation error S3: PutObject, https response error
StatusCode: 412, RequestID: x, api error PreconditionFailed: At least one of the pre-conditions you
specified did not hold
Lock Info:
  ID:        1-2-3
  Who:       ann@laptop

Terraform acquires a state lock to protect the state from being written
"""

REFUSED = """Acquiring state lock. This may take a few moments...

Error: Error acquiring the state lock

Error message: operation error S3: PutObject, https response error
StatusCode: 403, RequestID: , HostID: , api error AccessDenied: a fault
unable to retrieve file from S3 bucket 'b' with key 'net.tflock': NoSuchKey:
"""

KEPT = """
Error: Error releasing the state lock

Error message: failed to delete the lock file: operation error S3:
DeleteObject, exceeded maximum number of attempts, 5, https response error
StatusCode: 500, RequestID: , HostID: , api error InternalError: a fault
Lock Info:
  ID:        1-2-3
"""

UNREAD = (
    'Error: error loading state: Unable to access object "net.tfstate" in S3 bucket "bucket": '
    "operation error S3: GetObject, exceeded maximum number of attempts, 5, https response error\n"
    "StatusCode: 500, RequestID: , api error InternalError: a fault\n"
)

WORKED = "terraform_data.r: Creating...\nterraform_data.r: Provisioning with 'local-exec'...\n"


def may_pass(end: ToolEnd, bucket: str) -> bool:
    store = open_store(s3_description(S3Place(bucket, region="eu-west-1")))
    return backend_of(store, "net").may_pass(end)


def end(folder: Path, output: str, outcome: str = "exited") -> ToolEnd:
    (folder / "output.log").write_text(output)
    return ToolEnd("apply", outcome, {"apply": 1}, "apply", folder)  # type: ignore[arg-type]


def test_a_lock_of_somebody_s(tmp_path: Path) -> None:
    assert lost_the_lock(end(tmp_path, HELD))
    assert not may_pass(end(tmp_path, HELD), "bucket")
    on_a_folder = HELD.replace("operation error S3", "resource temporarily unavailable")
    assert lost_the_lock(end(tmp_path, on_a_folder))


def test_what_a_script_of_the_module_says_is_no_lock_of_ours(tmp_path: Path) -> None:
    for output in (WORKED + HELD, WORKED + REFUSED, f"terraform_data.r (local-exec): {HELD[1:]}"):
        assert not lost_the_lock(end(tmp_path, output))
        assert not may_pass(end(tmp_path, output), "bucket")


def test_a_lock_that_cannot_be_taken_is_nobody_s(tmp_path: Path) -> None:
    assert not lost_the_lock(end(tmp_path, REFUSED))
    assert may_pass(end(tmp_path, REFUSED), "bucket")


def test_a_lock_that_stays_after_the_work(tmp_path: Path) -> None:
    assert may_pass(end(tmp_path, WORKED + KEPT), "bucket")
    assert not lost_the_lock(end(tmp_path, WORKED + KEPT))


@pytest.mark.parametrize(
    "said", ["StatusCode: 503", "StatusCode: 429", "StatusCode: 0", "request send failed"]
)
def test_a_bucket_that_does_not_answer(tmp_path: Path, said: str) -> None:
    output = UNREAD.replace("StatusCode: 500", said)
    assert may_pass(end(tmp_path, output), "bucket")
    # A failure of a module's resource with its own bucket is the module's failure.
    assert not may_pass(end(tmp_path, output), "another")


def test_what_will_not_pass(tmp_path: Path) -> None:
    assert not may_pass(end(tmp_path, UNREAD.replace("500", "403")), "bucket")
    assert not may_pass(end(tmp_path, "Error: Invalid reference"), "bucket")
    assert not may_pass(end(tmp_path, KEPT, "timed_out"), "bucket")
