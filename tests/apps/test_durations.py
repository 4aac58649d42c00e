from datetime import timedelta

import pytest

from apps.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("1m30s", 90), ("1.5h", 5400), (".5m", 30), ("1500ms", 1.5), ("1h1m1s", 3661)],
)
def test_durations_are_read_as_go_reads_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "-5m", "5 m", "5m ", "1d", "1e3s", "٣s", "5m\n"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)
