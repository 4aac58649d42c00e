"""What lies elsewhere is noted when a config is checked, and hinders nothing."""

from apps.config.sources import Source
from tests.apps.app_folder import ACTION, DB, App, told

FETCHED = "is fetched when a release is built, and kept in it"
REMOTE = DB.replace(
    'repo = ".", directory = "modules/db"',
    'repo = "vendor/modules", directory = "db", branch = "main"',
)


def test_what_a_build_will_fetch_is_noted(app: App) -> None:
    app.write("components/db.toml", REMOTE)
    text = "https://example.com/x.sh?token=s3cret"
    app.write(
        "actions/check.toml", ACTION.replace('command = "true"', f'inline_contents = "{text}"')
    )
    loaded = app.load()
    assert [told(note) for note in loaded.notes] == [
        f"actions/check.toml: steps[0].inline_contents: {FETCHED}: https://example.com/x.sh",
        f"components/db.toml: public_repo.repo: {FETCHED}: "
        "https://github.com/vendor/modules.git at main",
    ]
    assert loaded.unbuildable == []
    source = Source(repo="vendor/modules", directory="db", branch="main")
    assert {one.what for one in loaded.wanted} == {source, text}


def test_what_cannot_be_fetched_is_an_error_at_once(app: App) -> None:
    for change, error in {
        (
            '"vendor/modules"',
            '"file:///etc"',
        ): "public_repo.repo: `file:///etc` is not a repository",
        ('"main"', '"-x"'): "public_repo.branch: `-x` cannot be a branch, tag or commit",
        ('"db", branch', '"../x", branch'): "public_repo.directory: `../x` must be a folder inside",
        (', branch = "main"', ""): "public_repo.branch: is required",
    }.items():
        app.write("components/db.toml", REMOTE.replace(*change))
        assert f"components/db.toml: {error}" in app.only_error()
    app.write("components/db.toml", DB)
    plain = ACTION.replace('command = "true"', 'inline_contents = "http://example.com/x.sh"')
    app.write("actions/check.toml", plain)
    assert "could be changed on its way; write https://" in app.only_error()
