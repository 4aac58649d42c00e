"""A bounded cache: the least recently used value is dropped first."""

from activities.build.newest import Newest


def test_forgets_what_was_not_used_for_longest() -> None:
    newest: Newest[str, int] = Newest(2)
    newest.keep("a", 1)
    newest.keep("b", 2)
    assert newest.find("a") == 1
    newest.keep("c", 3)
    assert [newest.find(key) for key in "abc"] == [1, None, 3]
    newest.keep("a", 4)
    assert newest.find("a") == 4
