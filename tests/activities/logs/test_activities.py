"""Tools' output, served a page at a time: complete, in order, and without secrets."""

import asyncio
import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from temporalio.testing import ActivityEnvironment

from activities.engines import Engine
from activities.logs.activities import LogActivities
from activities.operations.opening import Operations
from activities.operations.spec import OUTPUT_FILE, Command, ToolRun
from activities.releases.reader import ReleaseReader
from activities.secrets.kept import keep_secrets
from activities.secrets.masking import MASK, Mask
from activities.workplace import Workplace
from contracts.engines import TERRAFORM
from contracts.errors import BadInput, NotThere
from contracts.logs import LOG_PAGE_BYTES, LogPage, ReadLog
from store.folder import FolderStore
from store.install_state import InstallState
from store.journal import Journal
from store.machine import Machine
from store.opening import folder_description
from workers.engines import ENGINES

KEY = "run/net/apply/1"
SECRET = "correct-horse-battery"


class Site:
    def __init__(self, root: Path) -> None:
        self.root = root
        store = FolderStore(root / "store")
        data = root / "data"
        data.mkdir()
        self.operations = Operations(
            store, folder_description(store.root), data, Machine.here(data)
        )
        self.state = InstallState(store, "acme", "dev")
        self.state.set_sensitive_input("license", SECRET)
        self.workplace = Workplace(
            engines=ENGINES,
            install="acme",
            org="dev",
            data=data,
            store=store,
            state=self.state,
            operations=self.operations,
            open_releases=lambda: cast(ReleaseReader, None),
        )

    def shell(self, script: str) -> ToolRun:
        return ToolRun(
            [Command("script", ["/bin/sh", "-c", script])],
            self.root,
            {"PATH": os.environ["PATH"]},
            60,
        )

    async def run(self, *scripts: str, end: bool = True) -> None:
        async with self.operations.open(KEY, "net", lambda words: None) as operation:
            for number, script in enumerate(scripts):
                await operation.run(f"part-{number}", self.shell(script))
            if end:
                await operation.record_result({})

    def keep(self, secrets: set[str]) -> None:
        keep_secrets(self.workplace.data / "runs" / KEY, secrets)

    async def page(self, position: int = 0, wait: float = 0.0, key: str = KEY) -> LogPage:
        input = ReadLog(install="acme", key=key, position=position, wait_seconds=wait)
        page: LogPage = await ActivityEnvironment().run(LogActivities(self.workplace).read, input)
        return page

    async def all(self) -> tuple[str, int]:
        """All pages, and how many there were."""
        text, position, count = "", 0, 0
        while True:
            page = await self.page(position)
            text, position, count = text + page.text, page.position, count + 1
            if page.ended:
                return text, count
            assert page.text


async def until_printed(site: Site, text: str) -> None:
    """Polls until the text is in the tool's output, since nothing signals that a file has grown."""
    async with asyncio.timeout(30):
        while text not in "".join(file.read_text() for file in site.root.rglob(OUTPUT_FILE)):
            await asyncio.sleep(0.02)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def test_all_runs_one_after_the_other(site: Site) -> None:
    await site.run("echo one; echo oops >&2", "echo two")
    assert await site.page() == LogPage(
        text="-- part-0 (run 1)\none\noops\n-- part-1 (run 2)\ntwo\n",
        position=(await site.page()).position,
        ended=True,
    )


async def test_pages_make_up_the_whole(site: Site) -> None:
    await site.run("i=0; while [ $i -lt 30000 ]; do echo line-$i; i=$((i + 1)); done")
    text, count = await site.all()
    assert text == "-- part-0 (run 1)\n" + "".join(f"line-{n}\n" for n in range(30000))
    assert count == -(-len(text) // LOG_PAGE_BYTES) or count == -(-len(text) // LOG_PAGE_BYTES) + 1


async def test_a_line_without_end_is_served_in_pieces(site: Site) -> None:
    size = 3 * LOG_PAGE_BYTES
    await site.run(f"head -c {size} /dev/zero | tr '\\0' x")
    text, count = await site.all()
    assert text.count("x") - "-- part-0 (run 1)".count("x") == size
    assert count >= 3


@pytest.mark.parametrize("before", [LOG_PAGE_BYTES - n for n in range(1, len(SECRET), 2)])
async def test_a_secret_across_the_border_of_pages_is_hidden(site: Site, before: int) -> None:
    await site.run(f"head -c {before} /dev/zero | tr '\\0' x; printf {SECRET}; echo y")
    text, count = await site.all()
    # The heading, and a line that is longer than a page.
    assert count == 3
    assert MASK in text
    assert not [n for n in range(4, len(SECRET)) if SECRET[:n] in text or SECRET[-n:] in text]


@pytest.mark.parametrize("before", [LOG_PAGE_BYTES - n for n in range(1, 12)])
async def test_a_border_within_a_character_hides_and_keeps_it(site: Site, before: int) -> None:
    secret = "pässwörd-ß€😀-end"
    site.state.set_sensitive_input("license", secret)
    text = "x" * before + secret + "é€😀" * (LOG_PAGE_BYTES // 6)
    (site.root / "text").write_text(text)
    await site.run(f"cat {site.root / 'text'}")
    heading = "-- part-0 (run 1)\n"
    shown, _ = await site.all()
    # Masked on both pages if it is on both.
    assert shown.replace(MASK * 2, MASK) == heading + text.replace(secret, MASK)
    # Asking for a position within a secret does not reveal the rest of it.
    begin = len(heading) + before
    for inside in range(begin + 1, begin + len(secret.encode())):
        page = await site.page(inside)
        assert page.text.startswith((MASK, "é")), inside
        assert "end" not in page.text


async def test_a_secret_that_is_longer_than_usual_is_hidden(site: Site) -> None:
    secret = "".join(f"{n:05x}" for n in range(LOG_PAGE_BYTES // 5 * 2))
    site.state.set_sensitive_input("license", secret)
    (site.root / "text").write_text(f"{secret} and more")
    await site.run(f"cat {site.root / 'text'}")
    text, _ = await site.all()
    assert set(text.removeprefix("-- part-0 (run 1)\n").split(MASK)) <= {"", " and more"}


async def test_what_was_secret_when_it_was_printed_stays_so(site: Site) -> None:
    site.keep({SECRET})
    await site.run(f"echo {SECRET}")
    site.state.set_sensitive_input("license", "another-battery")
    text, _ = await site.all()
    assert text == f"-- part-0 (run 1)\n{MASK}\n"


async def test_a_run_begins_on_a_line_of_its_own(site: Site) -> None:
    await site.run("printf half", "echo two")
    text, _ = await site.all()
    assert text == "-- part-0 (run 1)\nhalf\n-- part-1 (run 2)\ntwo\n"


def test_only_what_lies_within_is_given() -> None:
    mask = Mask.of(["secret", "two words"])
    text = "a secret b two\nwords c"
    for start in range(len(text)):
        for end in range(start, len(text) + 1):
            part = mask.within(text, start, end)
            assert not [hidden for hidden in ("ecre", "wo\nwo", "rds") if hidden in part]
            assert set(part.replace(MASK, "")) <= set("abc ")
    assert mask.within(text, 0, len(text)) == f"a {MASK} b {MASK} c"
    assert mask.within(text, 0, 2) == "a "
    assert mask.within(text, 4, 10) == f"{MASK} b"


async def test_what_grows_is_followed_line_by_line(site: Site) -> None:
    fifo = site.root / "fifo"
    os.mkfifo(fifo)
    script = f"echo first; printf half-; cat {fifo}; echo last"
    running = asyncio.create_task(site.run(script))
    heading = "-- part-0 (run 1)\n"
    page = LogPage(text="", position=0, ended=False)
    text = ""
    while "first\n" not in text:
        try:
            page = await site.page(page.position, wait=10)
        except NotThere:
            await asyncio.sleep(0.02)
            continue
        text += page.text
    assert text == f"{heading}first\n"
    # Half a line may be half of a secret.
    assert (await site.page(page.position, wait=0.5)).text == ""
    following = asyncio.create_task(site.page(page.position, wait=20))
    await asyncio.to_thread(fifo.write_text, f"{SECRET}\n")
    page = await following
    text += page.text
    await running
    while not page.ended:
        page = await site.page(page.position, wait=10)
        text += page.text
    assert text == f"{heading}first\nhalf-{MASK}\nlast\n"


async def test_words_that_may_begin_a_secret_wait_for_the_next(site: Site) -> None:
    site.state.set_sensitive_input("license", "three secret words")
    fifo = site.root / "fifo"
    os.mkfifo(fifo)
    script = f"echo first; echo three; echo '│ secret'; cat {fifo}"
    running = asyncio.create_task(site.run(script))
    await until_printed(site, "secret\n")
    page = await site.page()
    assert page.text == "-- part-0 (run 1)\nfirst\n"
    assert (await site.page(page.position)).text == ""
    await asyncio.to_thread(fifo.write_text, "│ words\n")
    await running
    assert (await site.page(page.position)).text == f"{MASK}\n"


async def test_where_the_output_is_not_here_it_says_so(site: Site) -> None:
    await site.run("echo one")
    folder = site.workplace.data / "runs" / KEY / "1-part-0"
    folder.rename(folder.with_name("elsewhere"))
    assert (await site.page()).text == "-- part-0 (run 1): its output is no longer kept\n"
    (site.workplace.data / "machine-id").write_text("another")
    other = Machine.here(site.workplace.data)
    site.operations._context.__dict__["machine"] = other
    assert "on another machine" in (await site.page()).text


async def test_what_was_never_begun(site: Site) -> None:
    with pytest.raises(NotThere, match="Nothing was begun"):
        await site.page()
    for key, position in (("../../etc/passwd", 0), ("turn", 0), ("a/b", 0), (KEY, -1)):
        with pytest.raises(BadInput):
            await site.page(position, key=key)


def leave_out(log: Path, start: int, end: int) -> None:
    """Make a hole as in a long log."""
    asked = ["fallocate", "--punch-hole", "--offset", str(start), "--length", str(end - start)]
    subprocess.run([*asked, str(log)], check=True)


@pytest.mark.parametrize("before", range(1, len(SECRET), 3))
async def test_what_was_left_out_is_reported_and_no_half_of_a_secret_beside_it(
    site: Site, before: int
) -> None:
    """Secrets that are cut by the hole's beginning and end: no mask would find either half."""
    start, end, size = 128 * 1024, 1024 * 1024, 1200 * 1024
    text = bytearray(b"some words of it\n" * (size // 17))
    for border in (start, end):
        text[border - before : border - before + len(SECRET)] = SECRET.encode()
    (site.root / "text").write_bytes(text)
    await site.run(f"cat {site.root / 'text'}")
    [log] = site.root.rglob(OUTPUT_FILE)
    leave_out(log, start, end)
    shown, _ = await site.all()
    assert "left out: only the beginning and the end of long output are kept" in shown
    assert not [n for n in range(4, len(SECRET)) if SECRET[:n] in shown or SECRET[-n:] in shown]
    assert "\0" not in shown
    assert shown.count("some words of it\n") > 10_000 / 2
    [dropped] = re.findall(r"^-- (\d+) bytes: left out", shown, re.MULTILINE)
    heading = len("-- part-0 (run 1)\n")
    assert len(shown) - len(re.search(r"\n?-- \d+ bytes: .*\n", shown).group()) == (  # type: ignore[union-attr]
        heading + len(text) - int(dropped)
    )


async def test_a_reader_that_is_overtaken_goes_on_behind_what_was_left_out(site: Site) -> None:
    text = b"some words of it\n" * (1200 * 1024 // 17)
    (site.root / "text").write_bytes(text)
    await site.run(f"cat {site.root / 'text'}")
    [log] = site.root.rglob(OUTPUT_FILE)
    leave_out(log, 128 * 1024, 1024 * 1024)
    page = await site.page(512 * 1024)
    assert page.text.startswith("\n-- ")
    assert page.position > 1024 * 1024
    assert (await site.page(page.position)).text.endswith("some words of it\n")


@pytest.mark.parametrize("whole", [True, False])
async def test_a_state_that_was_printed_is_not_shown(site: Site, whole: bool) -> None:
    document = {"version": 4, "terraform_version": "1.11.4", "lineage": "l", "id": ["hidden"] * 9}
    state = json.dumps(document, indent=2)
    text = f"begins\n{state}\n\nError: no room\n" if whole else f"begins\n{state[:-40]}"
    (site.root / "text").write_text(text)
    await site.run(f"cat {site.root / 'text'}")
    shown, _ = await site.all()
    assert "begins\n-- " in shown
    assert "a Terraform state, which is not shown" in shown
    assert "hidden" not in shown
    assert ("Error: no room" in shown) == whole


@pytest.mark.parametrize(
    ("let_in", "is_asked"),
    [("terraform.apply", True), ("action.step", False), (None, True)],
    ids=["its own", "a step", "an older worker's"],
)
async def test_an_engine_tells_the_secrets_of_its_own_work_alone(
    site: Site, let_in: str | None, is_asked: bool
) -> None:
    def learn(store: object, run: str, part: str, known: Mask) -> Mask:
        assert (run, part) == ("run", "net")
        return known.and_also(["made-by-an-apply"])

    engine = Engine(TERRAFORM, activities=lambda workplace: (), learn_secrets=learn)
    site.workplace = replace(site.workplace, engines=(engine,))
    await site.run("echo made-by-an-apply")
    if let_in:
        Journal(site.workplace.store).bind(KEY, {"activity": let_in})
    assert ("made-by-an-apply" not in (await site.page()).text) == is_asked
