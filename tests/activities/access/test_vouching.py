"""A cloud vouches for a machine.

AWS is moto here, which finds out by the access key who signed a request, and checks no signature;
the real STS does. These tests are about our side: what is sent and where, what is read from the
answer, and that a document is valid for one worker's key only.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx
import jwt
import pytest
import pytest_asyncio
import uvicorn
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from jwt.algorithms import RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from activities.access.vouching import Aws, NotVouched, OpenId, Vouching
from contracts.access import CloudIdentity
from tests.s3_server import S3Server
from tests.tls_certificates import make_certificate
from wire.enrolment.aws_document import signed_sts_request
from wire.enrolment.messages import BOUND_HEADER

BOUND = "exclave:install/acme:0f0f"
ACCOUNT, ROLE = "123456789012", "exclave-worker"
PINNED = CloudIdentity(kind="aws", account=ACCOUNT, role=ROLE)


@pytest.fixture
def machine(
    s3_server: S3Server, s3_environment: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A machine with a role, and the address of its STS."""
    at: dict[str, Any] = {"endpoint_url": s3_server.endpoint, "region_name": "eu-central-1"}
    iam, sts = boto3.client("iam", **at), boto3.client("sts", **at)
    with contextlib.suppress(iam.exceptions.EntityAlreadyExistsException):
        iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument="{}")
    given = sts.assume_role(
        RoleArn=f"arn:aws:iam::{ACCOUNT}:role/{ROLE}", RoleSessionName="i-0123456789abcdef0"
    )["Credentials"]
    for client in (iam, sts):
        client.close()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", given["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", given["SecretAccessKey"])
    monkeypatch.setenv("AWS_SESSION_TOKEN", given["SessionToken"])
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", s3_server.endpoint)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    yield s3_server.endpoint + "/"


@pytest.mark.process
class TestAws:
    def test_the_role_of_the_machine_is_known(self, machine: str) -> None:
        principal = Aws([machine]).verify(PINNED, signed_sts_request(BOUND), BOUND)
        assert principal.startswith(f"arn:aws:sts::{ACCOUNT}:assumed-role/{ROLE}/")

    def test_nothing_secret_is_in_the_document(
        self, machine: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-canary-that-signs")
        document = json.loads(signed_sts_request(BOUND))
        assert "?" not in document["url"], "a URL is logged everywhere"
        assert "a-canary-that-signs" not in json.dumps(document)
        assert BOUND_HEADER in document["headers"]["Authorization"]

    @pytest.mark.parametrize(
        ("pinned", "words"),
        [
            ({"account": "999999999999", "role": ROLE}, "pinned is"),
            ({"account": ACCOUNT, "role": "another"}, "pinned is another"),
            ({"account": ACCOUNT}, "pinned is None"),
            ({}, "pinned is"),
        ],
    )
    def test_another_machine_is_named(
        self, machine: str, pinned: dict[str, str], words: str
    ) -> None:
        with pytest.raises(NotVouched, match=words):
            pin = CloudIdentity(kind="aws", **pinned)
            Aws([machine]).verify(pin, signed_sts_request(BOUND), BOUND)

    def test_a_user_is_no_machine(self, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOFNOROLE00000000")
        monkeypatch.delenv("AWS_SESSION_TOKEN")
        with pytest.raises(NotVouched, match="not a role that a machine can have"):
            Aws([machine]).verify(PINNED, signed_sts_request(BOUND), BOUND)

    def test_a_machine_without_credentials_says_so(
        self, machine: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            monkeypatch.delenv(name)
        with pytest.raises(OSError, match="no AWS credentials"):
            signed_sts_request(BOUND)

    def test_what_does_not_answer_can_be_asked_again(self, machine: str) -> None:
        document = json.loads(signed_sts_request(BOUND))
        document["url"] = "http://127.0.0.1:1/"
        with pytest.raises(OSError, match="does not answer"):
            Aws(["http://127.0.0.1:1/"]).verify(PINNED, json.dumps(document).encode(), BOUND)


Change = Callable[[dict[str, Any]], object]


def _url(url: str) -> Change:
    return lambda document: document.update(url=url)


def _signature(names: str, more: str = "") -> str:
    scope = "AKIAEXAMPLE/20300101/eu-central-1/sts/aws4_request"
    return f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}{more}, Signature={'0' * 64}"


def _header(name: str, value: str) -> Change:
    return lambda document: document["headers"].update({name: value})


@pytest.mark.parametrize(
    "change",
    [
        _url("https://sts.amazonaws.com.attacker.example/"),
        _url("https://attacker.example/"),
        _url("https://sts.eu-central-1.amazonaws.com@attacker.example/"),
        _url("https://sts.eu-central-1.amazonaws.com/other"),
        _url("http://sts.amazonaws.com/"),
        _url("http://169.254.169.254/latest/meta-data/"),
        _header(BOUND_HEADER, "exclave:install/other:0f0f"),
        _url("https://sts.eu-central-1.amazonaws.com/?Action=AssumeRole"),
        _url("https://sts.eu-central-1.amazonaws.com:8443/"),
        _url("https://sts.eu-central-1.amazonaws.com/\n"),
        _url("https://stsx.eu-central-1.amazonaws.com/"),
        _url("https://sts.a.b.amazonaws.com/"),
        _header("Authorization", _signature("host")),
        # If there are two, AWS might use the other one.
        _header("Authorization", _signature(f"host;{BOUND_HEADER}", ", SignedHeaders=host")),
        _header("Authorization", _signature("host", f", SignedHeaders=host;{BOUND_HEADER}")),
        _header("Authorization", _signature(f"host;{BOUND_HEADER}").replace("/sts/", "/iam/")),
        _header("Authorization", ""),
        lambda document: document["headers"].pop(BOUND_HEADER),
        lambda document: document.pop("url"),
        lambda document: document.update(headers=[]),
    ],
)
def test_only_a_request_to_sts_for_this_very_key_is_sent(
    change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sent(*_: object, **__: object) -> None:
        raise AssertionError("it was sent")

    monkeypatch.setattr(httpx.Client, "post", sent)
    authorization = _signature(f"host;x-amz-date;{BOUND_HEADER}")
    document = {
        "url": "https://sts.eu-central-1.amazonaws.com/",
        "headers": {"Authorization": authorization, BOUND_HEADER: BOUND},
    }
    with pytest.raises(AssertionError, match="it was sent"):
        Aws().verify(PINNED, json.dumps(document).encode(), BOUND)
    change(document)
    with pytest.raises(NotVouched):
        Aws().verify(PINNED, json.dumps(document).encode(), BOUND)


@pytest.mark.parametrize("document", [b"", b"[]", b"\xff", b'{"url": 1, "headers": 2}', b"null"])
def test_any_document_is_answered(document: bytes) -> None:
    for kind in ("aws", "azure", "gcp"):
        pinned = CloudIdentity(kind=kind)
        with pytest.raises(NotVouched):
            Vouching().verify(pinned, document, BOUND)


@dataclass
class Issuer:
    """An issuer of OpenID Connect, with its own keys."""

    url: str
    key: RSAPrivateKey

    def pinned(self, **more: str) -> CloudIdentity:
        return CloudIdentity.model_validate(
            {"kind": "gcp", "issuer": self.url, "subject": "machine-1", **more}
        )

    def token(self, *, key: RSAPrivateKey | None = None, kid: str = "1", **more: Any) -> bytes:
        now = int(time.time())
        claims = {
            "iss": self.url, "sub": "machine-1", "aud": BOUND, "iat": now, "exp": now + 3600,
        } | more  # fmt: skip
        made = jwt.encode(claims, key or self.key, "RS256", headers={"kid": kid})
        return made.encode()


@pytest_asyncio.fixture
async def issuer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> AsyncIterator[Issuer]:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.ca))
    key = generate_private_key(65537, 2048)
    url = f"https://127.0.0.1:{unused_tcp_port}"

    async def discovery(_: Request) -> Response:
        return JSONResponse({"issuer": url, "jwks_uri": f"{url}/keys"})

    async def keys(_: Request) -> Response:
        public = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        return JSONResponse({"keys": [{**public, "kid": "1", "use": "sig", "alg": "RS256"}]})

    app = Starlette(
        routes=[Route("/.well-known/openid-configuration", discovery), Route("/keys", keys)]
    )
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host="127.0.0.1",
            port=unused_tcp_port,
            log_level="error",
            lifespan="off",
            ssl_certfile=str(certificate.file),
            ssl_keyfile=str(certificate.key),
        )
    )
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield Issuer(url, key)
    server.should_exit = True
    await running


async def verified(pinned: CloudIdentity, token: bytes) -> str:
    return await asyncio.to_thread(OpenId().verify, pinned, token, BOUND)


async def test_a_token_of_the_pinned_issuer_for_this_key(issuer: Issuer) -> None:
    assert await verified(issuer.pinned(), issuer.token()) == f"{issuer.url} machine-1"
    of_azure = issuer.pinned(audience="https://management.azure.com/")
    assert await verified(of_azure, issuer.token(aud="https://management.azure.com/"))


async def test_every_other_token_is_refused(issuer: Issuer) -> None:
    now = int(time.time())
    other = generate_private_key(65537, 2048)
    for token in (
        issuer.token(aud="exclave:install/other:0f0f"),
        issuer.token(aud="https://management.azure.com/"),
        issuer.token(iss="https://another.example"),
        issuer.token(sub="machine-2"),
        issuer.token(exp=now - 400),
        issuer.token(iat=now + 400),
        issuer.token(key=other),
        issuer.token(key=other, kid="2"),
        issuer.token()[:-8],
        jwt.encode({"sub": "machine-1"}, "", "none").encode(),
        jwt.encode({"sub": "machine-1"}, "k" * 40, "HS256", headers={"kid": "1"}).encode(),
    ):
        with pytest.raises(NotVouched):
            await verified(issuer.pinned(), token)
    for pinned in (CloudIdentity(kind="gcp"), CloudIdentity(kind="gcp", subject="machine-1")):
        with pytest.raises(NotVouched, match="pinned"):
            await verified(pinned, issuer.token())


async def test_an_issuer_that_is_away_can_be_asked_again(issuer: Issuer) -> None:
    away = issuer.pinned(issuer="https://127.0.0.1:1")
    with pytest.raises(OSError, match="does not answer"):
        await verified(away, issuer.token(iss="https://127.0.0.1:1"))
