"""Errors of the wire, in a module that imports nothing slow, for those who only report them."""


class Unreadable(Exception):
    """A payload cannot be read here, because of a bug or of the keys."""
