import pytest

from apps.cron import cron_problem


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *", "*/5 * * * *", "5/10 * * * *", "0 4,16 * * *", "30 2 1-15/2 * *",
        "0 0 * * mon-FRI", "0 0 * * 5-7", "0 0 29 feb *", "0 0 31 1,2 *", "  0  0 * * * ",
        "@daily", "@hourly", "@weekly", "@monthly", "@yearly", "@annually", "@midnight",
    ],
)  # fmt: skip
def test_times(text: str) -> None:
    assert cron_problem(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "write five fields"),
        ("* * * *", "write five fields"),
        ("0 0 * * * *", "write five fields"),
        ("@every 5m", "write five fields"),
        ("@reboot", "a name such as `@daily`"),
        ("CRON_TZ=UTC 0 0 * * *", "in UTC"),
        ("60 * * * *", "the minute `60` has the value 60; it must be from 0 to 59"),
        ("0 24 * * *", "the hour `24` has the value 24; it must be from 0 to 23"),
        ("0 0 0 * *", "the day of month `0` has the value 0; it must be from 1 to 31"),
        ("0 0 * jam *", "the month `jam` has the value jam; it must be from 1 to 12"),
        ("0 0 * * 8", "the day of week `8` has the value 8; it must be from 0 to 7"),
        ("0 0 * * fri-sun", "the day of week `fri-sun` is a range that ends before it begins"),
        ("*/0 * * * *", "the minute `*/0` has the step 0; it must be from 1 to 59"),
        ("*/90 * * * *", "the minute `*/90` has the step 90; it must be from 1 to 59"),
        ("1,,2 * * * *", "the minute `1,,2` cannot be read"),
        ("*-5 * * * *", "the minute `*-5` cannot be read"),
        ("-1 * * * *", "the minute `-1` cannot be read"),
        ("٣ * * * *", "the minute `٣` cannot be read"),
        ("0 0 ? * 1", "the day of month `?` cannot be read"),
        ("0 0 1,15 * 1", "names days of the month and of the week"),
        ("0 0 30 2 *", "never comes: no month in it has a day 30"),
        ("0 0 31 4,6,9,11 *", "never comes: no month in it has a day 31"),
    ],
)
def test_what_is_no_time_is_told(text: str, message: str) -> None:
    problem = cron_problem(text)
    assert problem is not None and message in problem
