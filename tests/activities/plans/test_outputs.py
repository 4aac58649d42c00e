"""Results contain only small outputs; the others are named."""

from activities.plans.outputs import LARGEST_SENT_BYTES, as_sent, sent_bytes
from activities.secrets.masking import MASK, Mask
from store.install_records import Output


def test_what_is_too_large_to_travel_is_named() -> None:
    outputs = {
        "large": Output(value="x" * LARGEST_SENT_BYTES),
        "small": Output(value="y"),
        "middle": Output(value={"list": ["z" * 1000] * 20}),
    }
    sent = as_sent(outputs, Mask.of([]))
    assert list(sent.values) == ["small", "middle"]
    assert sent.omitted == ["large"]
    assert as_sent(outputs, Mask.of([]), 100).omitted == ["large", "middle"]
    assert as_sent(outputs, Mask.of([]), 0).values == {}
    assert sent_bytes(sent) <= LARGEST_SENT_BYTES


def test_many_names_are_counted() -> None:
    hidden = {f"secret_{number:05}": Output(value="s", sensitive=True) for number in range(9999)}
    many = {f"output_{number:05}": Output(value="o" * 30) for number in range(9999)}
    sent = as_sent({**hidden, **many}, Mask.of([]))
    assert len(sent.model_dump_json()) < LARGEST_SENT_BYTES + 10_000
    assert sent.sensitive[0] == "secret_00000"
    assert sent.sensitive[-1] == f"… and {9999 - len(sent.sensitive) + 1} more"
    assert sent.omitted[-1].endswith(" more")


def test_names_are_masked() -> None:
    outputs = {
        "pa55-of-shop": Output(value="1"),
        "is_pa55-of-shop": Output(value="s", sensitive=True),
        "with_pa55-of-shop": Output(value="x" * LARGEST_SENT_BYTES),
        "open": Output(value={"pa55-of-shop": [1]}),
    }
    sent = as_sent(outputs, Mask.of(["pa55-of-shop"]))
    assert "pa55-of-shop" not in sent.model_dump_json()
    assert sent.values == {MASK: "1", "open": {MASK: [1]}}
    assert sent.sensitive == [f"is_{MASK}"]
    assert sent.omitted == [f"with_{MASK}"]
