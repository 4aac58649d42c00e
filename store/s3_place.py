"""The place of a store in S3, parsed from `s3://bucket/prefix`."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Final

from store.errors import BadKey
from store.object_keys import check_key

_URL: Final = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?")


@dataclass(frozen=True)
class S3Place:
    """A bucket, and the prefix of the store's objects in it."""

    bucket: str
    prefix: str = ""
    """Segments of a key, without a trailing `/`; empty for the whole bucket."""
    region: str = ""
    """If empty, the region in the machine's AWS settings."""
    endpoint: str = ""
    """URL of an S3-compatible store; empty for AWS."""

    @staticmethod
    def parse(url: str, *, region: str = "", endpoint: str = "") -> "S3Place":
        """The place that `s3://bucket/prefix` names; raises ValueError."""
        match = _URL.fullmatch(url)
        if match is None:
            raise ValueError(
                f"{url!r} names no bucket; write s3://BUCKET or s3://BUCKET/PREFIX, the bucket "
                "with 3 to 63 lower case letters, digits, dots and dashes"
            )
        prefix = (match["prefix"] or "").removesuffix("/")
        try:
            return S3Place(match["bucket"], prefix and check_key(prefix), region, endpoint)
        except BadKey as error:
            raise ValueError(
                f"what follows the bucket in {url!r} cannot be used: {error}"
            ) from error

    @staticmethod
    def of(description: Mapping[str, str]) -> "S3Place":
        """The place that `describe` described."""
        known = {one.name for one in fields(S3Place)}
        return S3Place(**{name: word for name, word in description.items() if name in known})

    def describe(self) -> dict[str, str]:
        """A description for another process, without credentials: each process finds its own."""
        return {name: word for name, word in asdict(self).items() if word}

    def object_key(self, key: str) -> str:
        """The bucket's key for a key (or a prefix of keys) of the store."""
        return f"{self.prefix}/{key}" if self.prefix else key

    def store_key(self, object_key: str) -> str:
        """The store's key for an object of the bucket."""
        return object_key.removeprefix(f"{self.prefix}/") if self.prefix else object_key

    def __str__(self) -> str:
        url = f"s3://{self.bucket}/{self.prefix}" if self.prefix else f"s3://{self.bucket}"
        return f"{url} at {self.endpoint}" if self.endpoint else url
