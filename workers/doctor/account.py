"""Checks the customer's store, and the machine's cloud identity."""

import os
from functools import partial
from pathlib import Path
from typing import Literal

import httpx

from stacks.enrolment import Enrolment
from store.checking import check_store
from store.errors import StoreError
from store.opening import open_store
from store.s3_place import S3Place
from wire.enrolment.cloud_documents import document_of
from wire.network.probing import Fails, Host, bounded
from wire.network.trust import Trust
from workers.doctor.enrolment import WORKERS_USER
from workers.doctor.findings import Finding, Findings
from workers.doctor.way import check_way, host_of


async def examine_store(enrolment: Enrolment, data: Path, trust: Trust) -> list[Finding]:
    """Check whether the store can be reached, written, read and listed."""
    found = Findings(f"store {enrolment.store or data / 'store'}")

    def use() -> str:
        if enrolment.store is None and not (data / "store").exists():
            if not os.access(data, os.W_OK):
                raise Fails(f"{data} cannot be written by this user", WORKERS_USER)
            return "the worker creates it when it starts"
        try:
            check_store(open_store(enrolment.store_description(data)))
        except (StoreError, OSError) as error:
            raise Fails(str(error), WORKERS_USER if enrolment.store is None else "") from None
        return "writing, reading, listing and conditional writes work"

    if enrolment.store is not None:
        described = S3Place.parse(
            enrolment.store,
            region=enrolment.store_region or "",
            endpoint=enrolment.store_endpoint or "",
        )
        hosts: list[Host] = []

        async def endpoint() -> str:
            url = await bounded(partial(_s3_url, described))
            hosts.append(host_of(url, trust))
            return url

        if not await found.check("endpoint", endpoint()) or not await check_way(found, hosts[0]):
            return found.all
    await found.check("use", bounded(use))
    return found.all


def _s3_url(place: S3Place) -> str:
    """The address to which requests for a bucket are sent."""
    if place.endpoint:
        return place.endpoint
    url = httpx.URL(_aws_url("s3", place.region))
    return str(url if "." in place.bucket else url.copy_with(host=f"{place.bucket}.{url.host}"))


def _aws_url(service: Literal["s3", "sts"], region: str = "") -> str:
    import boto3  # noqa: PLC0415 - takes half a second, so only for those who need it

    session = boto3.Session(region_name=region or None)
    client = session.client(service, region_name=session.region_name or "us-east-1")
    client.close()
    return client.meta.endpoint_url


async def examine_cloud(enrolment: Enrolment, trust: Trust) -> list[Finding]:
    """Check whether the cloud confirms this machine's identity, if the worker enrols by it."""
    if enrolment.cloud is None:
        return []
    cloud, found = enrolment.cloud, Findings(f"cloud {enrolment.cloud}")
    if cloud == "aws" and os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"):
        # A pod gets credentials from STS; a machine gets them from its metadata service.
        sts = host_of(await bounded(partial(_aws_url, "sts")), trust)
        if not await check_way(found, sts):
            return found.all

    def ask() -> str:
        try:
            document_of(cloud, enrolment.cloud_audience)("exclave:doctor")
        except OSError as error:
            raise Fails(
                str(error),
                "Does this machine have an identity, and may this user reach the metadata service?",
            ) from None
        return "it confirms this machine's identity"

    await found.check("identity", bounded(ask))
    return found.all
