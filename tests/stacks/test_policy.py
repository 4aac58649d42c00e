"""The customer's policy: its keys, what is wrong with them, and its hours."""

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.policy import DAYS, DEFAULT_POLICY, Policy, PolicyError, Window


def policy(folder: Path, text: str) -> Policy:
    path = folder / "policy.toml"
    path.write_text(text)
    return Policy.read(path)


def test_without_a_file_the_defaults_hold_unless_it_is_required(tmp_path: Path) -> None:
    assert Policy.read(tmp_path / "policy.toml") == Policy()
    assert (Policy().approval, Policy().ad_hoc_scripts, Policy().rules()) == ("vendor", False, [])
    with pytest.raises(PolicyError, match=r"policy\.toml does not exist"):
        Policy.read(tmp_path / "policy.toml", required=True)


def test_the_default_file_says_what_holds_without_it(tmp_path: Path) -> None:
    assert policy(tmp_path, DEFAULT_POLICY).rules() == []
    # The lines that are commented out are the defaults, and are valid as written.
    commented = [one for one in DEFAULT_POLICY.splitlines() if one.startswith("#")]
    lines = [one[1:] for one in commented if one[1:2] != " "]
    uncommented = policy(tmp_path, "\n".join(lines))
    assert uncommented.rules() == ["hours"]
    assert set(tomllib.loads("\n".join(lines))) == set(Policy.model_fields) - {"digest"}


def test_all_keys(tmp_path: Path) -> None:
    read = policy(
        tmp_path,
        'operations = ["deploy"]\nactions = ["backup-*"]\nad_hoc_scripts = true\n'
        'approval = "both"\n[[hours]]\ndays = ["sat"]\nfrom = 08:30:00\nto = "09:00"\n',
    )
    assert read.rules() == ["operations", "actions", "ad_hoc_scripts", "hours", "approval"]
    assert read.asks_customer
    assert read.digest.startswith("sha256:")
    assert read.allows_action("backup-now") and not read.allows_action("health")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('aproval = "both"', "aproval: there is no such key; the keys are operations, actions"),
        ('digest = "sha256:1"', "digest: there is no such key"),
        ('approval = "nobody"', "approval: Input should be 'vendor', 'customer' or 'both'"),
        ('operations = ["apply"]', "operations.0: Input should be 'provision'"),
        ('[[hours]]\nfrom = "25:00"', "hours.0.from: '25:00' is not a time of day"),
        ('[[hours]]\nzones = "x"', "zones: there is no such key; the keys are days"),
        ('[[hours]]\nfrom_ = "5:00"', "from_: there is no such key; the keys are days"),
        ('[[hours]]\nzone = "Mars/North"', "hours.0.zone: 'Mars/North' is not a time zone"),
        ('[[hours]]\nzone = "../../etc/passwd"', "is not a time zone"),
        ("[[hours]]\ndays = []", "hours.0.days"),
        ("approval = ", "is not TOML"),
    ],
)
def test_what_is_wrong_is_reported_with_its_key(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy(tmp_path, text)
    assert says in str(caught.value)
    assert str(tmp_path / "policy.toml") in str(caught.value)


def test_a_file_that_cannot_be_read_is_not_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").mkdir()
    with pytest.raises(PolicyError, match="cannot be read: Is a directory"):
        Policy.read(tmp_path / "policy.toml")


BERLIN = ZoneInfo("Europe/Berlin")


def window(**keys: object) -> Window:
    return Window.model_validate(keys)


def test_a_window_over_midnight_belongs_to_the_day_that_it_begins_on() -> None:
    night = window(days=["fri"], **{"from": "22:00"}, to="05:00", zone="Europe/Berlin")
    friday = datetime(2026, 1, 9, tzinfo=BERLIN)
    assert not night.is_open(friday + timedelta(hours=21, minutes=59))
    assert night.is_open(friday + timedelta(hours=22))
    assert night.is_open(friday + timedelta(hours=28))
    assert not night.is_open(friday + timedelta(hours=29))
    assert not night.is_open(friday + timedelta(hours=4))
    assert night.opens(friday + timedelta(hours=23)) == datetime(2026, 1, 16, 22, tzinfo=BERLIN)


def test_hours_are_wall_clock_time_also_when_clocks_change() -> None:
    morning = window(**{"from": "06:00"}, to="07:00", zone="Europe/Berlin")
    for day, hour in ((datetime(2026, 3, 28), 5), (datetime(2026, 3, 29), 4)):
        opens = day.replace(hour=hour, tzinfo=UTC)
        assert morning.is_open(opens)
        assert not morning.is_open(opens - timedelta(seconds=1))
        assert morning.opens(opens - timedelta(hours=1)) == opens


@given(
    st.sets(st.sampled_from(DAYS), min_size=1),
    st.times(),
    st.times(),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia", "Asia/Kolkata"]),
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),
)
def test_at_the_next_opening_it_is_open_and_was_not_just_before(
    days: set[str], begin: object, end: object, zone: str, now: datetime
) -> None:
    one = window(days=sorted(days), **{"from": begin}, to=end, zone=zone)
    opens = one.opens(now)
    assert now < opens <= now + timedelta(days=8)
    if begin != end:
        assert one.is_open(opens)
    if not one.is_open(now):
        between = now + (opens - now) / 2
        assert not one.is_open(between)
