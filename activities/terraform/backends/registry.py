"""All backends, and the choice of the one for a store."""

from activities.terraform.backends.interface import Backend
from activities.terraform.backends.local import LocalBackend
from activities.terraform.backends.s3 import S3Backend
from activities.tools.environment import secrets_passed_on
from store.interface import Store

_BACKENDS: tuple[type[Backend], ...] = (LocalBackend, S3Backend)


def backend_of(store: Store, part: str) -> Backend:
    """The backend of a part's state in the install's own store."""
    return _kind_of(store)(store, part)


def worker_secrets(store: Store) -> list[object]:
    """Secrets of the worker that Terraform receives; they are masked."""
    return [*_kind_of(store).worker_secrets(), *secrets_passed_on()]


def _kind_of(store: Store) -> type[Backend]:
    return next(kind for kind in _BACKENDS if kind.serves(store))
