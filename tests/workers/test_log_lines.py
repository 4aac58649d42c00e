"""A worker's log shows where an error came from, but not its message."""

import io
import logging

from activities.customer import guard
from activities.customer.audit_chain import HEAD_MESSAGE, Head
from contracts.errors import EngineFailed
from workers.log_lines import GUARD, WholeLines, WordlessExceptions


def logged(error: Exception) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(WordlessExceptions("%(levelname)s %(message)s"))
    logger = logging.Logger("one")
    logger.addHandler(handler)
    try:
        raise error
    except Exception:
        logger.exception("It failed.")
    return stream.getvalue()


def failed(secret: str) -> Exception:
    try:
        try:
            raise KeyError(secret)
        except KeyError as error:
            raise EngineFailed(secret, {"more": secret}) from error
    except EngineFailed as error:
        return error


def test_an_exception_is_reported_by_type_and_stack_alone() -> None:
    text = logged(failed("hunter2"))
    assert text.startswith("ERROR It failed.\n")
    assert "hunter2" not in text
    assert "EngineFailed\ncaused by\n" in text
    assert text.rstrip().endswith("KeyError")
    assert "in failed" in text


def test_causes_in_a_circle_end() -> None:
    one, two = ValueError("hunter2"), ValueError("hunter3")
    one.__cause__, two.__cause__ = two, one
    text = logged(one)
    assert text.count("ValueError") == 2
    assert "hunter" not in text


def test_what_another_formatter_made_of_it_is_not_taken_over() -> None:
    record = logging.LogRecord("one", logging.ERROR, "", 1, "It failed.", None, None)
    record.exc_text = "hunter2"
    assert "hunter2" not in WordlessExceptions().format(record)
    assert record.exc_text == "hunter2"


def test_what_others_chose_begins_no_line() -> None:
    words = "%s\n2026-01-01 INFO dev x: all is well\x85\u2028\u202e\x1b[8m"
    record = logging.LogRecord("one", logging.INFO, "", 1, words, ("an id",), None)
    first, second = WholeLines("%(levelname)s %(message)s").format(record).split("\n")
    assert first == "INFO an id"
    assert second == r"    2026-01-01 INFO dev x: all is well\u0085\u2028\u202e\u001b[8m"


def test_an_id_makes_no_head_of_the_journal_in_the_log() -> None:
    """Whoever can raise false alarms makes true ones worthless."""
    forged = HEAD_MESSAGE % f"9:sha256:{'b' * 64}"
    format = WordlessExceptions("%(asctime)s %(levelname)s dev %(name)s: %(message)s")

    def line(name: str, words: str, *arguments: object) -> str:
        return format.format(logging.LogRecord(name, logging.INFO, "", 1, words, arguments, None))

    for name in ("temporalio.activity", GUARD):
        for words in ("Completing activity as failed (%s)", "%s", "x\n%s", forged):
            assert (
                Head.all_in(line(name, words, forged) if "%" in words else line(name, words)) == []
            )
    head = Head(7, "sha256:" + "a" * 64)
    assert Head.all_in(line(GUARD, HEAD_MESSAGE, head)) == [head]
    assert Head.all_in(line("another", HEAD_MESSAGE, head)) == []
    assert guard.__name__ == GUARD
