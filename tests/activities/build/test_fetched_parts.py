"""A build fetches what the config names elsewhere, and the release records what that was."""

import json
import os
import shutil
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from activities.build.release import BuildActivities
from activities.releases.reader import ReleaseReader
from activities.releases.reading import read_config
from activities.releases.unpacked import unpacked_at
from apps.release import TREE_ARTIFACT_TYPE, ReleaseIndex
from artifacts.manifests import parse_manifest, parse_object
from contracts.engines import ERRORED_STATE, TERRAFORM, only_copies
from contracts.errors import (
    BadConfig,
    CredentialsRefused,
    EngineFailed,
    NotThere,
    PolicyDenied,
    ToolMissing,
    Unreachable,
)
from tests.activities.build.vendor import MODULE, Vendor, component
from tests.git_repositories import git


async def test_a_module_is_fetched_packed_and_recorded(vendor: Vendor) -> None:
    files = {"aws/net/main.tf": MODULE, "aws/net/run.sh": "#!/bin/sh\n", "other/x.tf": "# no\n"}
    commit = vendor.repositories.commit("vendor/modules", files)
    vendor.write("components/net.toml", component("net", "vendor/modules", "./aws/net/"))
    vendor.write(
        "components/api.toml",
        component("api", "https://github.com/vendor/modules.git", "aws/net", commit),
    )
    checked, release, reused = await vendor.build()
    assert not reused
    assert checked.packed["net"] == checked.packed["api"], "equal content is one artifact"
    assert vendor.packed(checked.packed["net"].digest) == {
        "main.tf": MODULE.encode(),
        "run.sh": b"#!/bin/sh\n",
    }
    index = ReleaseIndex.from_index(
        parse_object(vendor.registry.get_manifest("apps/shop", release))
    )
    config = read_config(vendor.registry, "shop", index.config)
    recorded = [(one.url, one.ref, one.commit, one.directory) for one in config.fetched]
    url = "https://github.com/vendor/modules.git"
    assert recorded == [(url, commit, commit, "aws/net"), (url, "main", commit, "aws/net")]
    assert [one.model_dump() for one in checked.fetched] == [
        one.model_dump() for one in config.fetched
    ]
    assert config.fetched[1].used_by == ["components/net.toml"]
    assert checked.warnings == []
    assert any(beat.startswith("fetches vendor/modules@") for beat in vendor.beats)
    assert len(vendor.mirrors()) == 1
    assert list((vendor.data / "fetching").iterdir()) == []


async def test_a_branch_that_moved_is_another_release_and_one_that_did_not_is_the_same(
    vendor: Vendor,
) -> None:
    vendor.repositories.commit("vendor/modules", {"net/main.tf": MODULE})
    vendor.write("components/net.toml", component("net", "vendor/modules", "net"))
    first, release, _ = await vendor.build()
    vendor.beats.clear()
    again, same, reused = await vendor.build()
    assert (again, same, reused) == (first, release, True)
    assert not [beat for beat in vendor.beats if beat.startswith("fetches")], "read again"

    # Another worker, which remembers nothing.
    vendor.activities = BuildActivities(vendor.registry, vendor.data / "other")
    assert await vendor.build() == (first, release, True)

    beside = vendor.repositories.commit("vendor/modules", {"README.md": "hello\n"})
    moved, third, reused = await vendor.build()
    assert moved.packed == first.packed, "the module's own content is what it was"
    assert third != release and not reused
    assert [one.commit for one in moved.fetched] == [beside]

    vendor.repositories.commit("vendor/modules", {"net/more.tf": "# more\n"})
    changed, fourth, _ = await vendor.build()
    assert changed.packed != first.packed
    assert fourth not in (release, third)


async def test_a_commit_that_was_fetched_is_not_fetched_again(vendor: Vendor) -> None:
    commit = vendor.repositories.commit("vendor/modules", {"net/main.tf": MODULE}, tag="v1.0.0")
    vendor.repositories.commit("vendor/modules", {"net/main.tf": "# later\n"})
    vendor.write("components/net.toml", component("net", "vendor/modules", "net", "v1.0.0"))
    tagged, _, _ = await vendor.build()
    assert [one.commit for one in tagged.fetched] == [commit], "the tag's commit, not its object"
    assert vendor.packed(tagged.packed["net"].digest) == {"main.tf": MODULE.encode()}

    # With a pinned commit, the server is not even needed any more.
    shutil.rmtree(vendor.repositories.served)
    vendor.write("components/net.toml", component("net", "vendor/modules", "net", commit))
    pinned, _, _ = await vendor.build()
    assert pinned.packed == tagged.packed


@pytest.mark.parametrize("named", ["tip", "older"])
async def test_a_server_that_gives_no_bare_commits(vendor: Vendor, named: str) -> None:
    older = vendor.repositories.commit("vendor/modules", {"net/main.tf": MODULE})
    vendor.repositories.commit("vendor/modules", {"net/more.tf": "# more\n"})
    vendor.repositories.configure("protocol.version", "0")
    branch = "main" if named == "tip" else older
    vendor.write("components/net.toml", component("net", "vendor/modules", "net", branch))
    checked, _, _ = await vendor.build()
    files = vendor.packed(checked.packed["net"].digest)
    assert sorted(files) == (["main.tf", "more.tf"] if named == "tip" else ["main.tf"])


async def test_what_is_wrong_in_a_repository_is_reported_with_commit_and_line(
    vendor: Vendor,
) -> None:
    commit = vendor.repositories.commit(
        "vendor/modules",
        {
            "net/main.tf": 'terraform {\n  required_version = ">= 2.0"\n}\n' + MODULE,
            "bad/main.tf": 'variable "region" {\n  type = [\n}\n',
            "out/main.tf": MODULE + 'module "x" {\n  source = "../../net"\n}\n',
        },
    )
    vendor.write(
        "components/net.toml", component("net", "vendor/modules", "net", more='zone = "z"\n')
    )
    vendor.write("components/bad.toml", component("bad", "vendor/modules", "bad"))
    vendor.write("components/out.toml", component("out", "vendor/modules", "out"))
    vendor.write(
        "components/last.toml",
        component("last", "vendor/modules", "net").replace(
            '"here"', '"{{ .nuon.components.net.outputs.idd }}"'
        ),
    )
    message = await vendor.refused(BadConfig)
    at = f"vendor/modules@{commit[:12]}"
    for line in (
        f"{at}:bad/main.tf:3: warning: cannot be read here",
        f"components/net.toml:3: error: terraform_version: `1.11.0` contradicts required_version "
        f"`>= 2.0` in {at}:net/main.tf",
        f"components/net.toml:10: error: vars.zone: the module in `{at}:net` declares no variable",
        f"{at}:out/main.tf:8: error: the module's source `../../net` leads out of `{at}`",
        "components/last.toml:9: error: vars.region: ",
    ):
        assert line in message, f"{line}\n---\n{message}"
    assert not vendor.registry.has_manifest("apps/shop", "sha256:" + "0" * 64)


async def test_what_is_not_there_is_reported_at_once_with_what_was_meant(vendor: Vendor) -> None:
    vendor.repositories.commit("vendor/modules", {"aws/network/main.tf": MODULE})
    gone = "0123456789" * 4
    for name, text in {
        "branch": component("branch", "vendor/modules", "aws/network", "mian"),
        "folder": component("folder", "vendor/modules", "aws/netwrok"),
        "file": component("file", "vendor/modules", "aws/network/main.tf"),
        "repo": component("repo", "vendor/nothing", "aws/network"),
        "commit": component("commit", "vendor/modules", "aws/network", gone),
    }.items():
        vendor.write(f"components/{name}.toml", text)
    message = await vendor.refused(BadConfig)
    for line in (
        "components/branch.toml:7: error: public_repo.branch: "
        "https://github.com/vendor/modules.git has no branch or tag `mian`; did you mean `main`?",
        "components/folder.toml:6: error: public_repo.directory: "
        "https://github.com/vendor/modules.git at ",
        "has no folder `aws/netwrok`; did you mean `aws/network`?",
        "has no folder `aws/network/main.tf`",
        "components/repo.toml:5: error: public_repo.repo: there is no repository at "
        "https://github.com/vendor/nothing.git",
        "components/commit.toml:7: error: public_repo.branch: "
        f"https://github.com/vendor/modules.git has no commit {gone}",
    ):
        assert line in message, f"{line}\n---\n{message}"


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"net/link.tf": Path("main.tf")}, "link.tf is a link"),
        (
            {"net/big.zip": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"},
            "big.zip is in Git LFS",
        ),
    ],
)
async def test_what_cannot_be_packed_is_refused(
    vendor: Vendor, files: dict[str, str | bytes | Path], why: str
) -> None:
    vendor.repositories.commit("vendor/modules", {"net/main.tf": MODULE, **files})
    vendor.write("components/net.toml", component("net", "vendor/modules", "net"))
    assert f"public_repo.directory: {why}" in await vendor.refused(BadConfig)


async def test_submodules_are_refused_and_links_beside_the_module_are_nobodys_business(
    vendor: Vendor,
) -> None:
    commit = vendor.repositories.commit(
        "vendor/modules", {"net/main.tf": MODULE, "link": Path("net"), "net/.terraform/x": "no"}
    )
    vendor.write("components/net.toml", component("net", "vendor/modules", "net"))
    checked, _, _ = await vendor.build()
    assert list(vendor.packed(checked.packed["net"].digest)) == ["main.tf"]

    work = vendor.repositories.folder / "work/vendor/modules/main"
    git("update-index", "--add", "--cacheinfo", f"160000,{commit},net/sub", folder=work)
    git("commit", "--quiet", "-m", "sub", folder=work)
    bare = str(vendor.repositories.served / "vendor/modules.git")
    git("push", "--quiet", bare, "main", folder=work)
    assert "sub is a submodule" in await vendor.refused(BadConfig)


async def test_without_git_it_says_where_to_install_it(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    vendor.write("components/net.toml", component("net", "vendor/modules", "net"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git is not installed on the build worker" in await vendor.refused(ToolMissing)


async def test_an_address_that_does_not_answer_is_tried_again(vendor: Vendor) -> None:
    vendor.write("components/net.toml", component("net", "https://127.0.0.1:9/a/b.git", "net"))
    message = await vendor.refused(Unreachable)
    assert "https://127.0.0.1:9/a/b.git cannot be fetched now; git says:" in message


async def test_credentials_are_nowhere_to_be_read(
    vendor: Vendor, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # A vendor's own git config may put a token into addresses.
    vendor.repositories.configure("url.https://x:s3cret@127.0.0.1:9/.insteadOf", "https://private/")
    vendor.write("components/net.toml", component("net", "https://private/a/b.git", "net"))
    message = await vendor.refused(Unreachable)
    assert "s3cret" not in message
    vendor.write("components/net.toml", component("net", "https://x:s3cret@private/a/b.git", "net"))
    message = await vendor.refused(BadConfig)
    assert "public_repo.repo: `https://private/a/b.git` is written with credentials" in message
    assert "s3cret" not in message
    assert "s3cret" not in "".join(capfd.readouterr())
    assert "s3cret" not in json.dumps(vendor.beats)


async def test_protocols_that_no_config_names_are_refused_by_git_too(vendor: Vendor) -> None:
    vendor.repositories.configure("url.ext::sh -c id% .insteadOf", "https://private/")
    vendor.write("components/net.toml", component("net", "https://private/a/b.git", "net"))
    with pytest.raises(ApplicationError, match="transport 'ext' not allowed"):
        await vendor.check()


async def test_a_repository_that_asks_for_a_password_gets_none(
    vendor: Vendor, asking_server: str
) -> None:
    vendor.repositories.configure("http.sslVerify", "false")
    vendor.write("components/net.toml", component("net", f"{asking_server}/a/b.git", "net"))
    message = await vendor.refused(CredentialsRefused)
    assert "git on the build worker may not read it" in message
    assert "credential helper" in message


async def test_a_damaged_or_interrupted_mirror_is_mended(vendor: Vendor) -> None:
    vendor.repositories.commit("vendor/modules", {"net/main.tf": MODULE})
    vendor.write("components/net.toml", component("net", "vendor/modules", "net"))
    first, _, _ = await vendor.build()
    [mirror] = vendor.mirrors()
    # Files that a killed fetch leaves behind.
    (mirror / "shallow.lock").touch()
    (mirror / ".said-0").touch()
    vendor.repositories.commit("vendor/modules", {"net/more.tf": "# more\n"})
    second, _, _ = await vendor.build()
    assert second.packed != first.packed
    # A pack as a power cut leaves it.
    objects = [path for path in (mirror / "objects").rglob("*") if path.is_file()]
    for path in objects:
        path.chmod(0o600)
        os.truncate(path, 0)
    vendor.activities = BuildActivities(vendor.registry, vendor.data)
    third, _, _ = await vendor.build()
    assert third == second


SIBLING = 'module "x" {\n  source = "../../shared/names"\n}\n'
SHARED = 'output "tag" {\n  value = file("${path.module}/../files/tag")\n}\n'


async def test_a_module_that_calls_a_sibling_is_packed_with_it(
    vendor: Vendor, tmp_path: Path
) -> None:
    files: dict[str, str | bytes | Path] = {
        "tf/aws/net/main.tf": MODULE + SIBLING,
        "tf/shared/names/main.tf": SHARED,
        "tf/shared/files/tag": "v1",
        "tf/aws/link": Path("net"),
        "docs/x.md": "# no\n",
    }
    vendor.repositories.commit("vendor/modules", files)
    vendor.write("components/net.toml", component("net", "vendor/modules", "tf/aws/net"))
    checked, release, _ = await vendor.build()
    artifact = checked.packed["net"]
    # Files that cannot be packed are left out where they are not required.
    assert sorted(vendor.packed(artifact.digest)) == [
        "aws/net/main.tf", "shared/files/tag", "shared/names/main.tf",
    ]  # fmt: skip
    # A worker that does not know this artifact type would use the wrong folder, so it must refuse.
    assert artifact.artifact_type == TREE_ARTIFACT_TYPE

    vendor.activities = BuildActivities(vendor.registry, vendor.data / "other")
    assert (await vendor.build())[1] == release
    vendor.repositories.commit("vendor/modules", {"docs/x.md": "# more\n"})
    assert (await vendor.build())[0].packed == checked.packed

    reader = ReleaseReader(vendor.registry, tmp_path / "cache", only_copies([TERRAFORM]))
    work = tmp_path / "work/net"
    unpacked = reader.unpack_module("shop", release, "net", work)
    assert unpacked.folder == work / "aws/net"
    assert unpacked_at(work) == unpacked
    assert (unpacked.folder / "../../shared/files/tag").read_text() == "v1"
    (unpacked.folder / ERRORED_STATE).write_text("{}")
    vendor.repositories.commit("vendor/modules", {"tf/shared/files/tag": "v2"})
    _, changed, _ = await vendor.build()
    with pytest.raises(EngineFailed, match="a state that Terraform could not write"):
        reader.unpack_module("shop", changed, "net", work)
    (unpacked.folder / ERRORED_STATE).unlink()
    reader.unpack_module("shop", changed, "net", work)
    assert (unpacked.folder / "../../shared/files/tag").read_text() == "v2"


async def test_a_link_in_what_a_module_reaches_is_refused(vendor: Vendor) -> None:
    vendor.repositories.commit(
        "vendor/modules",
        {
            "tf/aws/net/main.tf": MODULE + SIBLING,
            "tf/shared/names/main.tf": MODULE,
            "tf/shared/names/link.tf": Path("main.tf"),
        },
    )
    vendor.write("components/net.toml", component("net", "vendor/modules", "tf/aws/net"))
    assert "shared/names/link.tf is a link" in await vendor.refused(BadConfig)


ACTION = """name = "scan"
triggers = [{ type = "manual" }]
[[steps]]
name = "first"
command = "./scan.sh --all"
public_repo = { repo = "vendor/scripts", directory = "scan", branch = "main" }
[[steps]]
name = "second"
command = "true"
[[steps]]
name = "third"
command = "cat motd"
connected_repo = { repo = ".", directory = "files" }
"""


async def test_what_steps_run_in_is_in_the_release(vendor: Vendor, tmp_path: Path) -> None:
    commit = vendor.repositories.commit("vendor/scripts", {"scan/scan.sh": "#!/bin/sh\necho 1\n"})
    vendor.write("actions/scan.toml", ACTION)
    vendor.write("files/motd", "hello\n")
    checked, release, _ = await vendor.build()
    assert sorted(checked.steps) == ["scan/0", "scan/2"]
    assert [one.commit for one in checked.fetched] == [commit]
    assert checked.warnings == []

    shutil.rmtree(vendor.repositories.served)
    reader = ReleaseReader(vendor.registry, tmp_path / "cache")
    unpacked = reader.unpack_step("shop", release, "scan", 0, tmp_path / "first")
    assert unpacked.artifact == checked.steps["scan/0"].digest
    assert (unpacked.folder / "scan.sh").read_text() == "#!/bin/sh\necho 1\n"
    third = reader.unpack_step("shop", release, "scan", 2, tmp_path / "third")
    assert (third.folder / "motd").read_text() == "hello\n"
    with pytest.raises(NotThere, match="lacks the repository of step 1 of action scan"):
        reader.unpack_step("shop", release, "scan", 1, tmp_path / "second")

    manifest = vendor.registry.get_manifest("apps/shop", checked.steps["scan/0"].digest)
    layer = parse_manifest(manifest).layers[0].digest.removeprefix("sha256:")
    [blob] = (vendor.data.parent / "registry").rglob(layer)
    blob.chmod(0o600)
    blob.write_bytes(b"x" * blob.stat().st_size)
    with pytest.raises(PolicyDenied):
        ReleaseReader(vendor.registry, tmp_path / "new").unpack_step(
            "shop", release, "scan", 0, tmp_path / "again"
        )


async def test_a_step_whose_script_is_not_there_is_reported_when_it_is_built(
    vendor: Vendor,
) -> None:
    vendor.repositories.commit("vendor/scripts", {"scan/scam.sh": "#!/bin/sh\n"})
    vendor.write("actions/scan.toml", ACTION)
    vendor.write("files/motd", "hello\n")
    message = await vendor.refused(BadConfig)
    assert "actions/scan.toml:5: error: steps[0].command: there is no file `scan.sh` in " in message
    assert "did you mean `scam.sh`?" in message
    vendor.write("actions/scan.toml", ACTION.replace("main", "mian"))
    message = await vendor.refused(BadConfig)
    assert "steps[0].public_repo.branch: " in message and "has no branch or tag `mian`" in message
