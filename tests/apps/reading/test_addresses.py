"""Addresses have few forms, begin with nothing that a command takes for an option, and hold no
credentials."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.reading.addresses import (
    AddressRefused,
    GitFile,
    checked_directory,
    checked_ref,
    git_file,
    https_url,
    repository_url,
    shown,
)


@pytest.mark.parametrize(
    ("repo", "url"),
    [
        ("owner/name", "https://github.com/owner/name.git"),
        ("owner/name.git", "https://github.com/owner/name.git"),
        ("https://git.example.com/a/b.git", "https://git.example.com/a/b.git"),
        ("git@git.example.com:a/b.git", "git@git.example.com:a/b.git"),
        ("ssh://git@git.example.com:2222/a/b.git", "ssh://git@git.example.com:2222/a/b.git"),
    ],
)
def test_forms_of_repositories(repo: str, url: str) -> None:
    assert repository_url(repo) == url


@pytest.mark.parametrize(
    "repo",
    [
        *("name", "/abs/path", "../up/x", "-x/y", "--upload-pack=x/y", "a/b/c", ""),
        *(
            "file:///etc",
            "ext::sh -c x",
            "http://host/a/b",
            "git://host/a",
            "https://",
            "https:///x",
        ),
        *("git@-oProxyCommand=x:a/b", "git@host:-x", "ssh://-oProxyCommand=x/a", "a b/c", "a/b\n"),
        *("https://host/a?x=y", "https://user@host/a", "https://u:p@host/a/b.git"),
        *("https://-host/a", "ssh://git:p@host/a"),
    ],
)
def test_what_is_no_repository(repo: str) -> None:
    with pytest.raises(AddressRefused) as refused:
        repository_url(repo)
    assert "u:p" not in str(refused.value)


@given(st.text())
def test_whatever_passes_is_safe_in_a_command_line(text: str) -> None:
    for check in (repository_url, checked_ref, https_url):
        try:
            found = check(text)
        except AddressRefused:
            continue
        assert not found.startswith("-")
        assert not any(ord(character) <= 32 for character in found)


@given(st.text())
def test_a_directory_never_leads_out(text: str) -> None:
    try:
        found = checked_directory(text)
    except AddressRefused:
        return
    assert ".." not in found.split("/")
    assert not found.startswith("/")


@pytest.mark.parametrize("ref", ["-x", "a..b", "a b", "x@{1}", "", "a:b", "x^", "/x", "x.lock"])
def test_what_can_be_no_ref(ref: str) -> None:
    with pytest.raises(AddressRefused):
        checked_ref(ref)


def test_files_of_repositories() -> None:
    assert git_file("git::https://host/a/b.git//c/d.sh?ref=v1") == GitFile(
        "https://host/a/b.git", "c/d.sh", "v1"
    )
    assert git_file("git@host:a/b.git//c.sh") == GitFile("git@host:a/b.git", "c.sh", "HEAD")
    for wrong in ("git::https://host/a/b.git", "git://host/a//b", "git::https://h/a//b?x=y"):
        with pytest.raises(AddressRefused):
            git_file(wrong)


def test_addresses_are_shown_without_what_is_secret() -> None:
    assert shown("https://u:p@host/a/b?token=x#y") == "https://host/a/b"
    assert shown("git@host:a/b.git") == "git@host:a/b.git"
