"""AWS's proof of a machine's identity: a signed request, for which STS names the signer."""

import json

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError

from wire.enrolment.messages import BOUND_HEADER, STS_BODY


def signed_sts_request(bound: str) -> bytes:
    """An STS GetCallerIdentity request, signed with the machine's own AWS credentials.

    The signature is in the headers, so that no URL contains a secret. It covers the worker and its
    key, so that the request is useless for anything else.

    Raises:
        OSError: the machine has no AWS credentials.
    """
    session = boto3.Session()
    try:
        sts = session.client("sts", region_name=session.region_name or "us-east-1")
        credentials = session.get_credentials()
        frozen = credentials.get_frozen_credentials() if credentials else None
    except BotoCoreError as error:
        raise OSError(f"its AWS credentials cannot be read: {error}") from error
    if frozen is None:
        raise OSError("it has no AWS credentials; give it the role that the stack names")
    url = sts.meta.endpoint_url.rstrip("/") + "/"
    headers = {
        "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
        BOUND_HEADER: bound,
    }
    request = AWSRequest(method="POST", url=url, data=STS_BODY, headers=headers)
    SigV4Auth(frozen, "sts", sts.meta.region_name).add_auth(request)
    return json.dumps({"url": url, "headers": dict(request.headers.items())}).encode()
