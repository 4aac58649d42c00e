"""Explains errors of S3, and of the connection to it, to the person who must act.

The explanations contain no secrets. The library's own messages are never repeated, since those of a
credential helper, for example, may contain anything. The service's message is repeated only if its
error code is not known here.
"""

import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from botocore import exceptions as boto
from botocore.exceptions import BotoCoreError, ClientError

from store.errors import StoreUnavailable
from store.s3_place import S3Place

_NO_OBJECT: Final = frozenset({"NoSuchKey", "NotFound", "404"})
_REFUSED_CONDITION: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412"})


def is_absent(error: ClientError) -> bool:
    """Whether the error means that there is no object under the key."""
    return _code(error) in _NO_OBJECT


def is_refused_condition(error: ClientError) -> bool:
    """Whether the error means that the request's condition was not met."""
    return _code(error) in _REFUSED_CONDITION


@contextlib.contextmanager
def explained(place: S3Place, key: str, endpoint: Callable[[], str]) -> Iterator[None]:
    """Turns errors within the block into StoreUnavailable.

    Args:
        place: The store.
        key: The key, or prefix of keys, that the block works on.
        endpoint: Returns the address of the service.
    """
    try:
        yield
    except ClientError as error:
        why = _of_service(place, error)
    except (BotoCoreError, OSError, ValueError) as error:
        why = _of_way(error, endpoint)
    else:
        return
    # Without the cause: nobody who reads the chain of exceptions may find a secret.
    raise StoreUnavailable(f"the store {place} cannot be used for {key!r}: {why}") from None


def _of_service(place: S3Place, error: ClientError) -> str:
    code = _code(error)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    for codes, advice in _ADVICE:
        if code in codes:
            return f"{code}: {advice(place, error)}"
    if status >= 500:
        return f"{code} ({status}): {_overloaded(place, error)}"
    return f"{code} ({status}): {_words(error)}"


def _no_bucket(place: S3Place, error: ClientError) -> str:
    return (
        f"there is no bucket {place.bucket}; create it, or correct `store`, `store_region` and "
        "`store_endpoint` in the worker's enrolment file"
    )


def _needed_permissions(place: S3Place, error: ClientError) -> str:
    objects = f"arn:aws:s3:::{place.bucket}/{place.object_key('*')}"
    return (
        "the worker's AWS identity may not do this; allow it s3:GetObject, s3:PutObject and "
        f"s3:DeleteObject on {objects}, s3:ListBucket on arn:aws:s3:::{place.bucket}, and the use "
        "of the bucket's KMS key if it has one; a bucket policy may deny it as well"
    )


def _wrong_clock(place: S3Place, error: ClientError) -> str:
    return (
        "this machine's clock differs from the store's by too much; set it, and let NTP keep it "
        "(leases need right clocks as well)"
    )


def _refused_credentials(place: S3Place, error: ClientError) -> str:
    return (
        "the store does not accept the AWS credentials that the worker found; renew them where it "
        "finds them (its role, AWS_* variables, or ~/.aws)"
    )


def _right_region(place: S3Place, error: ClientError) -> str:
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    found: Any = error.response.get("Error", {})
    region = found.get("Region") or headers.get("x-amz-bucket-region")
    if region:
        return f"the bucket lies in {region}; set `store_region` in the worker's enrolment file"
    return (
        f"the request was made for another region or form of address than {place.bucket}'s; set "
        "`store_region` (and `store_endpoint`, if it is not AWS) in the worker's enrolment file"
    )


def _lacking(place: S3Place, error: ClientError) -> str:
    return (
        f"{place.endpoint or 'AWS'} lacks something that is needed here, such as writing only if "
        "the object is unchanged (If-Match); use a store that has it"
    )


def _overloaded(place: S3Place, error: ClientError) -> str:
    return "the store is in trouble or overloaded; it may pass"


_ADVICE: Final[Sequence[tuple[frozenset[str], Callable[[S3Place, ClientError], str]]]] = (
    (frozenset({"NoSuchBucket"}), _no_bucket),
    (frozenset({"AccessDenied", "AllAccessDisabled", "403"}), _needed_permissions),
    (frozenset({"RequestTimeTooSkewed"}), _wrong_clock),
    (
        frozenset({"ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}),
        _refused_credentials,
    ),
    (
        frozenset({"AuthorizationHeaderMalformed", "PermanentRedirect", "301", "400"}),
        _right_region,
    ),
    (frozenset({"NotImplemented"}), _lacking),
    (frozenset({"SlowDown"}), _overloaded),
)


def _of_way(error: Exception, endpoint: Callable[[], str]) -> str:
    name = type(error).__name__
    for kinds, advice in _ON_THE_WAY:
        if isinstance(error, kinds):
            return f"{name}: {advice.format(endpoint=endpoint(), cause=_cause(error))}"
    if isinstance(error, OSError):
        return f"{name}: {error.strerror or 'something of this machine cannot be used'}"
    return f"{name}: the AWS settings of this machine or the worker's enrolment file do not fit"


_ON_THE_WAY: Final[Sequence[tuple[tuple[type[Exception], ...], str]]] = (
    (
        (boto.NoRegionError,),
        "its region is not known; set `store_region` in the worker's enrolment file",
    ),
    (
        (
            boto.NoCredentialsError,
            boto.PartialCredentialsError,
            boto.CredentialRetrievalError,
            boto.MetadataRetrievalError,
            boto.NoAuthTokenError,
            boto.TokenRetrievalError,
            boto.SSOError,
            boto.ConfigNotFound,
            boto.ConfigParseError,
            boto.ProfileNotFound,
            boto.InvalidConfigError,
        ),
        "no usable AWS credentials were found; give the worker's machine a role, or set AWS_* "
        "variables or ~/.aws for the worker's user",
    ),
    (
        (boto.ProxyConnectionError,),
        "the proxy that HTTPS_PROXY or HTTP_PROXY names does not answer{cause}",
    ),
    (
        (boto.SSLError,),
        "no trusted connection to {endpoint}{cause}; check its certificate, and AWS_CA_BUNDLE if "
        "it has an authority of its own",
    ),
    (
        (boto.ConnectionError, boto.HTTPClientError, boto.IncompleteReadError),
        "{endpoint} does not answer{cause}; check the address, and that this machine may connect "
        "to it (network, firewall, S3 endpoint of the VPC)",
    ),
)


def _cause(error: Exception) -> str:
    """The operating system's message, if the error comes from there."""
    seen: BaseException | None = getattr(error, "kwargs", {}).get("error")
    while seen is not None:
        if isinstance(seen, socket.gaierror):
            return " (its name is not known)"
        if isinstance(seen, OSError) and seen.strerror:
            return f" ({seen.strerror})"
        seen = getattr(seen, "reason", None) or seen.__cause__ or seen.__context__
    return ""


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _words(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Message", ""))[:200]
