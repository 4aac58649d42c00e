"""What goes wrong on the way, for those who only tell of it: nothing slow is read for that."""


class Unreadable(Exception):
    """A payload cannot be read here; a fault of our own, or of whoever holds the keys."""
