from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from artifacts.layout import Layout
from tests.activities.build.shop_source import registry_of
from tests.activities.build.vendor import Vendor
from tests.artifacts.serving import Certificate, make_certificate, served
from tests.git_repositories import Repositories


@pytest.fixture
def repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repositories:
    found = Repositories(tmp_path / "git")
    found.use(monkeypatch)
    return found


@pytest.fixture
def vendor(tmp_path: Path, repositories: Repositories) -> Iterator[Vendor]:
    with registry_of(Layout(tmp_path / "registry")) as registry:
        yield Vendor(tmp_path, registry, repositories)


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return make_certificate(tmp_path)


@pytest.fixture
def asking_server(certificate: Certificate) -> Iterator[str]:
    """A server that requires a password."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = {"www-authenticate": 'Basic realm="private"'}
        await Response("no", 401, headers)(scope, receive, send)

    with served(app, certificate) as address:
        yield address
