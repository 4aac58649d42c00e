"""Texts elsewhere are fetched over https or with git, and replace the references to them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from activities.build.web import MAX_TEXT_BYTES
from activities.releases.reading import read_config
from artifacts.names import digest_of
from contracts.builds import CheckedSource
from contracts.errors import BadConfig, Unreachable
from tests.activities.build.vendor import MODULE, Vendor
from tests.artifacts.serving import Certificate, served

ACTION = """name = "look"
[[triggers]]
type = "manual"
[[steps]]
name = "one"
inline_contents = "{reference}"
"""


class Web:
    """A server of texts that counts requests."""

    def __init__(self) -> None:
        self.text = "echo hello\n"
        self.asked: list[str] = []
        self.app = Starlette(routes=[Route("/{path:path}", self.answer)])

    async def answer(self, request: Request) -> Response:
        path = request.path_params["path"]
        self.asked.append(path)
        answers: dict[str, Response] = {
            "script.sh": PlainTextResponse(self.text),
            "moved": RedirectResponse("/script.sh?token=s3cret"),
            "round": RedirectResponse("/round"),
            "plain": RedirectResponse("http://127.0.0.1:9/script.sh"),
            "large": PlainTextResponse("x" * (MAX_TEXT_BYTES + 1)),
            "latin": Response("ok\n\xe9".encode("latin-1")),
            "busy": Response(status_code=503),
        }
        return answers.get(path, Response(status_code=404))


@pytest.fixture
def web() -> Web:
    return Web()


@pytest.fixture
def address(web: Web, certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    with served(web.app, certificate) as found:
        yield found


def script(vendor: Vendor, checked: CheckedSource) -> str | None:
    config = read_config(vendor.registry, "shop", checked.config.digest)
    action = config.action("look")
    assert action is not None
    return action.steps[0].inline_contents


async def test_a_text_of_the_web_replaces_its_address(
    vendor: Vendor, web: Web, address: str
) -> None:
    vendor.write("actions/look.toml", ACTION.format(reference=f"{address}/moved?token=s3cret"))
    checked, release, _ = await vendor.build()
    assert script(vendor, checked) == web.text
    [source] = checked.fetched
    assert (source.url, source.digest) == (f"{address}/moved", digest_of(web.text.encode()))
    assert source.used_by == ["actions/look.toml"]
    assert "s3cret" not in checked.model_dump_json() + "".join(vendor.beats)

    assert (await vendor.build())[1:] == (release, True)
    web.text = "echo other\n"
    changed, other, _ = await vendor.build()
    assert script(vendor, changed) == web.text
    assert other != release


async def test_a_text_of_a_repository_is_pinned_by_its_commit(vendor: Vendor) -> None:
    commit = vendor.repositories.commit("vendor/scripts", {"bin/look.sh": "echo hello\n"})
    reference = "git::https://github.com/vendor/scripts.git//bin/look.sh?ref=main"
    vendor.write("actions/look.toml", ACTION.format(reference=reference))
    checked, _, _ = await vendor.build()
    assert script(vendor, checked) == "echo hello\n"
    [source] = checked.fetched
    assert (source.commit, source.directory) == (commit, "bin/look.sh")

    vendor.write("actions/look.toml", ACTION.format(reference=reference.replace("look.sh?", "?")))
    message = await vendor.refused(BadConfig)
    assert "actions/look.toml:6: error: steps[0].inline_contents: " in message
    assert "has no file `bin`; there is `bin/look.sh`" in message


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nothing", "answers with the status 404"),
        ("round", "redirects more than 5 times"),
        ("plain", "redirects to an address that is not https"),
        ("large", "is larger than 1024 KiB"),
        ("latin", "is not UTF-8 (line 2)"),
    ],
)
async def test_what_cannot_be_taken_is_reported(
    vendor: Vendor, address: str, path: str, why: str
) -> None:
    vendor.write("actions/look.toml", ACTION.format(reference=f"{address}/{path}"))
    message = await vendor.refused(BadConfig)
    assert (
        f"actions/look.toml:6: error: steps[0].inline_contents: {address}/{path} {why}" in message
    )


async def test_a_busy_server_is_asked_again(vendor: Vendor, address: str) -> None:
    vendor.write("actions/look.toml", ACTION.format(reference=f"{address}/busy"))
    assert "answers with the status 503" in await vendor.refused(Unreachable)
    vendor.write("actions/look.toml", ACTION.format(reference="https://127.0.0.1:9/x"))
    assert "https://127.0.0.1:9/x cannot be fetched now" in await vendor.refused(Unreachable)


async def test_who_cannot_prove_who_it_is_is_refused(
    vendor: Vendor, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    vendor.write("actions/look.toml", ACTION.format(reference=f"{address}/script.sh"))
    assert "cannot be verified" in await vendor.refused(BadConfig)


async def test_plain_http_is_refused_before_anything_is_asked(vendor: Vendor) -> None:
    vendor.write("actions/look.toml", ACTION.format(reference="http://127.0.0.1:9/x"))
    assert "could be changed on its way; write https://" in await vendor.refused(BadConfig)


async def test_a_cancelled_build_ends_git(vendor: Vendor, tmp_path: Path) -> None:
    # A git that never ends, as with a server that accepts the connection and then sends nothing.
    pid, bin_folder = tmp_path / "pid", tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "git").write_text(
        f"#!/bin/sh\necho $$ > {pid}.new; mv {pid}.new {pid}\nsleep 600\n"
    )
    (bin_folder / "git").chmod(0o700)
    vendor.repositories.commit("vendor/modules", {"net/main.tf": MODULE})
    reference = "git::https://github.com/vendor/modules.git//net/main.tf"
    vendor.write("actions/look.toml", ACTION.format(reference=reference))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(bin_folder), prepend=":")
        checking = asyncio.create_task(vendor.check())
        async with asyncio.timeout(60):
            while not pid.exists():
                await asyncio.sleep(0.01)
        checking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await checking
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()
    assert (await vendor.check()).fetched[0].ref == "HEAD"


async def test_builds_at_the_same_time_fetch_once(vendor: Vendor) -> None:
    vendor.repositories.commit("vendor/modules", {"net/look.sh": "echo\n"})
    reference = "git::https://github.com/vendor/modules.git//net/look.sh"
    vendor.write("actions/look.toml", ACTION.format(reference=reference))
    checked = await asyncio.gather(*(vendor.check() for _ in range(3)))
    assert checked[0] == checked[1] == checked[2]
    assert len(vendor.mirrors()) == 1
