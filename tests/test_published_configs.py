"""bench.published_configs, which reads every config below a folder twice."""

from pathlib import Path

import pytest

from bench.published_configs import as_markdown, as_text, configs, row

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_each_example_is_found_and_read_the_same_twice() -> None:
    found = list(configs(EXAMPLES))
    assert EXAMPLES / "shop" in found
    rows = [row(one, one.name) for one in found]
    assert all(one.is_same and one.frozen and not one.errors for one in rows), as_text(rows)


def test_what_is_wrong_is_reported_below_its_config(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/metadata.toml").write_text('version = "v3"\nodd = 1\n')
    [config] = configs(tmp_path)
    found = row(config, "a/b")
    assert (found.errors, found.warnings, found.frozen, found.is_same) == (1, 2, "", True)
    assert "    metadata.toml:1: error: version: " in as_text([found])
    assert "| a/b | 1 | 1 | 2 | 0 |" in as_markdown([found])


def test_what_is_not_the_same_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "metadata.toml").write_text('version = "v2"\n')
    bytes_of_each = iter([b"one", b"one", b"two"])
    monkeypatch.setattr("bench.published_configs.frozen", lambda _: next(bytes_of_each))
    assert not row(tmp_path, "x").is_same
