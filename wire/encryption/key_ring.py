"""Caches derived keys, and reads them again when their file is replaced.

So a key that is added, or becomes the current one, reaches every process without a restart.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path

from wire.encryption.key_files import KeyFileError
from wire.encryption.keys import Key, Keys, MasterKeys, WorkerKeys

_log = logging.getLogger(__name__)

_CACHED = 4096
"""How many derived keys are cached; beyond that, the cache is cleared."""

_Seen = tuple[int, int, int]


class KeyRing(Keys):
    """Keys that may be replaced while they are in use."""

    def __init__(self, keys: Keys, again: Callable[[], Keys | None] = lambda: None) -> None:
        """Begin with these keys.

        Args:
            keys: The first keys.
            again: Returns new keys if they have changed, else None.
        """
        self._keys = keys
        self._again = again
        self._newest: dict[tuple[str, str], Key | None] = {}
        self._found: dict[tuple[str, str, str], Key | None] = {}

    @staticmethod
    def of_file(path: Path, read: Callable[[Path], Keys]) -> "KeyRing":
        """The keys in a file, which is read again whenever it changes.

        Raises:
            KeyFileError: the file is unusable. Later, the former keys stay in use instead.
        """
        path = path.absolute()
        seen = _look(path)
        keys = read(path)

        def again() -> Keys | None:
            nonlocal seen
            looked = _look(path)
            if looked == seen or looked is None:
                return None
            seen = looked
            try:
                return read(path)
            except KeyFileError as error:
                _log.error("The new keys cannot be used, so the former ones are: %s", error)
                return None

        return KeyRing(keys, again)

    @property
    def home(self) -> str:
        """As in the keys."""
        return self._keys.home

    @property
    def control(self) -> bool:
        """As in the keys."""
        return self._keys.control

    def newest(self, namespace: str, subject: str) -> Key | None:
        """The key to encrypt with for the subject."""
        self._renew()
        owner = (namespace, subject)
        if owner not in self._newest:
            if len(self._newest) >= _CACHED:
                self._newest.clear()
            self._newest[owner] = self._keys.newest(namespace, subject)
        return self._newest[owner]

    def find(self, namespace: str, subject: str, key_id: str) -> Key | None:
        """The subject's key with this id."""
        self._renew()
        which = (namespace, subject, key_id)
        if which not in self._found:
            if len(self._found) >= _CACHED:
                self._found.clear()
            self._found[which] = self._keys.find(namespace, subject, key_id)
        return self._found[which]

    def exchange(self, keys: Keys) -> None:
        """Use these keys from now on."""
        self._keys = keys
        self._newest.clear()
        self._found.clear()

    def _renew(self) -> None:
        renewed = self._again()
        if renewed is not None:
            self.exchange(renewed)


def master_ring(path: Path) -> KeyRing:
    """The control side's keys.

    Raises:
        KeyFileError: see its name.
    """
    return KeyRing.of_file(path, MasterKeys.read)


def worker_ring(path: Path) -> KeyRing:
    """The keys of one subject, for example a gateway's.

    Raises:
        KeyFileError: see its name.
    """
    return KeyRing.of_file(path, WorkerKeys.read)


def _look(path: Path) -> _Seen | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - called for each payload; this is faster
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
