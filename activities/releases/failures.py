"""Turns errors of artifacts and registries into the contract's errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from apps.frozen import FrozenError
from apps.release import ReleaseError
from artifacts.archive import ArchiveRefused
from artifacts.errors import (
    ArtifactMissing,
    ArtifactTooLarge,
    DigestMismatch,
    RegistryRefused,
    RegistryUnreachable,
)
from artifacts.manifests import InvalidManifest
from contracts.errors import (
    BadInput,
    CredentialsRefused,
    EngineFailed,
    ExclaveError,
    NotThere,
    NotUnderstood,
    PolicyDenied,
    Unreachable,
)


@contextmanager
def artifact_errors(what: str, missing: str) -> Iterator[None]:
    """Turn errors raised in the block into the contract's errors.

    Args:
        what: What is read or written, such as `release sha256:…`; messages begin with it.
        missing: The message of the NotThere that is raised if it is missing.
    """
    try:
        yield
    except ArtifactMissing as error:
        raise NotThere(missing) from error
    except RegistryUnreachable as error:
        raise Unreachable(f"{what}: {error}") from error
    except RegistryRefused as error:
        raise _refusal(what, error) from error
    except DigestMismatch as error:
        raise PolicyDenied(f"{what}: {error}") from error
    except FrozenError as error:
        raise NotUnderstood(f"{what}: {error}") from error
    except (ArchiveRefused, ArtifactTooLarge, InvalidManifest, ReleaseError) as error:
        raise BadInput(f"{what} cannot be used: {error}") from error


def _refusal(what: str, error: RegistryRefused) -> ExclaveError:
    if error.passing:
        return Unreachable(f"{what}: {error}")
    if error.status in (401, 403):
        return CredentialsRefused(f"{what}: {error}")
    if error.status == 405:
        return PolicyDenied(f"{what}: {error}")
    return EngineFailed(f"{what}: {error}")
