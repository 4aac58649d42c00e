"""The plan view: an approver sees every change, but nothing that is sensitive."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.plans import view
from activities.plans.changes import Changes
from activities.plans.view import PAGE_BYTES, pages, render_view
from activities.secrets.masking import MASK, Mask
from activities.secrets.words import is_word
from apps.display_text import shown_lines
from tests.activities.plans.made_changes import change, objects
from tests.activities.terraform.terraform_plans import NAMES, SECRET, changes

NOTHING = Mask.of([])


def lines(found: Changes, mask: Mask = NOTHING) -> list[str]:
    return [line.strip() for line in render_view("net", "apply", found, mask).splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_what_terraform_marks_is_never_shown(name: str) -> None:
    """Not even where it is not marked: a computed attribute may repeat a marked argument."""
    text = render_view("net", "apply", changes(name), NOTHING)
    assert SECRET not in text
    assert "other-secret" not in text


@pytest.mark.parametrize("name", NAMES)
def test_every_object_and_output_that_changes_is_named(name: str) -> None:
    text = render_view("net", "apply", changes(name), NOTHING)
    for one in (*changes(name).objects, *changes(name).outputs):
        assert one.address in text


def test_a_heading_and_the_changed_attributes_alone() -> None:
    shown = lines(changes("replace"))
    assert shown[0] == "apply net: 1 to update, 1 to replace, 2 outputs"
    assert "-/+ terraform_data.db (replace because cannot update)" in shown
    assert '~ triggers_replace = ["small"] -> ["large"]' in shown
    assert any(line.startswith("~ id = ") and "-> (known after apply)" in line for line in shown)
    assert "outputs" in shown
    assert '~ size = "small" -> (known after apply)' in shown
    unchanged = change("update", before={"a": 1, "b": 2}, after={"a": 1, "b": 3})
    assert [line for line in lines(objects(unchanged)) if "=" in line] == ["~ b = 2 -> 3"]


def test_creates_and_deletes_have_one_side() -> None:
    assert "+ id = (known after apply)" in lines(changes("create"))
    assert all("->" not in line for line in lines(changes("create")))
    deleted = [line for line in lines(changes("delete")) if "=" in line]
    assert all(line.startswith("-") for line in deleted)
    assert any("triggers_replace" in line for line in deleted)


def test_moves_imports_and_deposed_objects_are_reported() -> None:
    assert "-> terraform_data.network (was terraform_data.net)" in lines(changes("moved"))
    assert "<- terraform_data.old" in "\n".join(lines(changes("import")))
    assert "5d0c0e3a-1111-2222-3333-444444444444" in "\n".join(lines(changes("import")))
    assert "- terraform_data.app (deposed 1149ce61)" in lines(changes("deposed"))
    assert "x terraform_data.gone (delete because no resource config)" in lines(changes("forget"))


def test_what_is_unknown_within_a_value_is_reported_in_its_place() -> None:
    [line] = [one for one in lines(changes("nested")) if '"plain": "a"' in one]
    shown = json.loads(line.partition(" = ")[2])
    assert shown == {"deep": [{"id": "(known after apply)", "secret": MASK}], "plain": "a"}


@pytest.mark.parametrize("mark", [True, {"a": True}, {"a": {"deep": True}}, {"a": [True]}])
def test_marks_of_any_shape(mark: object) -> None:
    value = {"a": [SECRET] if mark == {"a": [True]} else {"deep": SECRET}}
    for actions, sides in (
        ("create", {"after": value, "after_sensitive": mark}),
        ("delete", {"before": value, "before_sensitive": mark}),
        ("update", {"before": value, "before_sensitive": mark, "after": {"a": 1}}),
        ("update", {"after": value, "after_sensitive": mark, "before": {"a": 1}}),
    ):
        text = "\n".join(lines(objects(change(actions, **sides))))
        assert SECRET not in text
        assert MASK in text


def test_a_mark_on_what_is_partly_unknown() -> None:
    one = change(
        after={"a": [{"x": SECRET}]},
        unknown={"a": [{"id": True}, True]},
        after_sensitive={"a": [{"x": True, "id": True}, True]},
    )
    text = "\n".join(lines(objects(one)))
    assert SECRET not in text
    assert "a = " in text


SECRETS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=4).filter(
    lambda text: not is_word(text)
)


@given(SECRETS)
def test_what_the_mask_knows_is_never_shown(secret: str) -> None:
    mask = Mask.of([secret])
    one = change(
        "update",
        address=f'x.y["{secret}"]',
        before={"a": secret, "b": [f"x {secret} y"], "c": {secret: 1}},
        after={"a": f"{secret}{secret}", "b": {"n": [secret]}, "c": json.dumps({"k": secret})},
    )
    output = change("update", address="out", before=secret, after=[secret], unknown=False)
    text = render_view("net", "apply", Changes((one,), (output,)), mask)
    rest = render_view("net", "apply", Changes((), ()), NOTHING) + MASK
    if secret not in rest and json.dumps(secret)[1:-1] not in rest:
        frame = _frame()
        assert text.count(secret) <= frame.count(secret)
    assert MASK in text


def _frame() -> str:
    """The view as it would be if every secret were already masked."""
    one = change(
        "update",
        address=f'x.y["{MASK}"]',
        before={"a": MASK, "b": [f"x {MASK} y"], "c": {MASK: 1}},
        after={"a": f"{MASK}{MASK}", "b": {"n": [MASK]}, "c": json.dumps({"k": MASK})},
    )
    output = change("update", address="out", before=MASK, after=[MASK], unknown=False)
    return render_view("net", "apply", Changes((one,), (output,)), NOTHING)


def test_a_long_value_is_shown_to_its_end() -> None:
    one = change("update", before={"a": "x" * 300_000 + "old"}, after={"a": "x" * 300_000 + "new"})
    text = render_view("net", "apply", objects(one), NOTHING)
    assert 'xold" -> "xxx' in text
    assert text.rstrip().endswith('xnew"')


def test_a_line_that_is_longer_than_a_page_goes_over_several() -> None:
    one = change(after={"a": "xü€😀" * 100_000, "b": 1})
    text = render_view("net", "apply", objects(one), NOTHING)
    found = pages(text)
    assert "".join(found) == text
    assert len(found) > 2
    assert max(len(page.encode()) for page in found) <= PAGE_BYTES


def test_what_a_plan_marks_is_masked_where_it_does_not() -> None:
    found = Changes((change(after={"a": f"u:{SECRET}@h"}),), (), secrets=({"deep": [SECRET]},))
    assert f'+ a = "u:{MASK}@h"' in lines(found)


def test_the_id_of_an_import_is_shown() -> None:
    one = change("update", before={"a": 1}, after={"a": 2}, importing='{"id": "vpc-1"}')
    assert '~ terraform_data.one (import of {"id": "vpc-1"})' in lines(objects(one))


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)))
def test_pages_are_lossless_small_and_end_with_lines(texts: list[str]) -> None:
    text = "".join(f"{one}\n" for one in texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "PAGE_BYTES", 40)
        found = pages(text)
    assert "".join(found) == text
    assert all(len(page.encode()) <= 40 for page in found)
    # No text is longer than a page, so no line is either.
    assert all(page.splitlines(keepends=True)[-1] != page.splitlines()[-1] for page in found[:-1])
    assert all(found) or found == [""]


def test_no_page_of_a_large_plan_is_larger_than_a_payload() -> None:
    wide = {f"name{n}": "ü" * 10_000 for n in range(60)}
    big = objects(*(change(address=f"x.{n}", after=wide) for n in range(4)))
    found = pages(render_view("net", "apply", big, NOTHING))
    assert len(found) > 1
    assert max(len(page.encode()) for page in found) <= PAGE_BYTES
    assert "".join(found).count("+ x.") == 4


def test_a_small_plan_is_one_page() -> None:
    text = render_view("net", "apply", changes("create"), NOTHING)
    assert pages(text) == [text]


HOSTILE = st.text(st.sampled_from("\n\r\x0b\x85\u2028\u2029\u202e\u2066\u200b\x1b+~-a="))


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_key_value_or_address_makes_a_line_of_its_own(
    address: str, key: str, value: str
) -> None:
    honest = objects(change(address="a", after={"k": "v", "deep": {"k": ["v"]}}))
    forged = change(
        address=address, after={key: value, "deep": {key: [value]}}, reason=value, deposed=key
    )
    text = render_view("net", "apply", objects(forged), NOTHING)
    assert shown_lines(text) == text, "nothing is hidden in it"
    assert text.splitlines() == text.removesuffix("\n").split("\n")
    lines_of_one = len(render_view("net", "apply", honest, NOTHING).split("\n"))
    assert len(text.split("\n")) <= lines_of_one


def test_what_is_shown_by_its_number_has_the_digest_of_what_it_is() -> None:
    """A digest depends on the values, not on how they are shown."""
    known = {"install": "acme", "component": "net", "verb": "apply"}
    one, other = (objects(change(after={"k": text})) for text in ("a\u202eb", r"a\u202eb"))
    assert one.digest(b"key", **known) != other.digest(b"key", **known)
    assert r'k = "a\u202eb"' in "\n".join(lines(one)), "JSON escapes a backslash"
    assert r'k = "a\\u202eb"' in "\n".join(lines(other))
