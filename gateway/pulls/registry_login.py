"""How the gateway logs in to a registry: with Basic, or with a Bearer token.

If a registry answers 401 with a `Bearer` challenge, a token is fetched from the realm in it, and
kept until the registry refuses it.
"""

from collections import OrderedDict
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from urllib.request import parse_http_list, parse_keqv_list

import httpx

_TOKENS_KEPT = 1_000


class LoginFailed(Exception):
    """The login that the registry asks for fails."""


@dataclass(frozen=True)
class RegistryCredentials:
    """A user name and a password file, which is read for each login, since it may be rotated."""

    user: str
    password: Path

    def basic(self) -> httpx.BasicAuth:
        """Basic authentication for one request; raises LoginFailed."""
        try:
            word = self.password.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise LoginFailed(
                f"the registry's password, {self.password}, cannot be read: {error}"
            ) from error
        return httpx.BasicAuth(self.user, word)


class RegistryLogin(httpx.Auth):
    """Authenticates requests to one registry, also anonymous ones."""

    def __init__(self, credentials: RegistryCredentials | None) -> None:
        self._credentials = credentials
        self._tokens: OrderedDict[str, str] = OrderedDict()
        self._takes_basic = False

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Send the request with what worked before; if that is refused, log in."""
        path = _kept_for(request.url.path)
        if path in self._tokens:
            request.headers["Authorization"] = f"Bearer {self._tokens[path]}"
        elif self._takes_basic and self._credentials:
            self._prove(request)
        response = yield request
        if response.status_code != httpx.codes.UNAUTHORIZED:
            return
        scheme, _, rest = response.headers.get("WWW-Authenticate", "").partition(" ")
        if scheme.lower() == "bearer":
            asking = self._token_request(request, parse_keqv_list(parse_http_list(rest)))
            answer = yield asking
            await answer.aread()
            self._keep(path, _token(answer))
            request.headers["Authorization"] = f"Bearer {self._tokens[path]}"
        elif scheme.lower() == "basic" and self._credentials:
            self._takes_basic = True
            self._prove(request)
        else:
            return
        yield request

    def _prove(self, request: httpx.Request) -> None:
        if self._credentials is not None:
            next(self._credentials.basic().auth_flow(request))

    def _token_request(self, request: httpx.Request, challenge: dict[str, str]) -> httpx.Request:
        realm = httpx.URL(challenge.get("realm", ""))
        own = (request.url.scheme, request.url.host)
        if realm.scheme != "https" and (realm.scheme, realm.host) != own:
            raise LoginFailed(f"the registry wants a login at {realm}, which is not encrypted")
        wanted: dict[str, str] = {k: v for k, v in challenge.items() if k in ("service", "scope")}
        asking = httpx.Request("GET", realm.copy_merge_params(wanted))
        self._prove(asking)
        return asking

    def _keep(self, path: str, token: str) -> None:
        self._tokens[path] = token
        self._tokens.move_to_end(path)
        while len(self._tokens) > _TOKENS_KEPT:
            self._tokens.popitem(last=False)


def _kept_for(path: str) -> str:
    """The path that a token is kept for: one is valid for all uploads of a repository."""
    before, uploads, _ = path.partition("/blobs/uploads/")
    return before + uploads


def _token(answer: httpx.Response) -> str:
    where = answer.request.url.copy_with(query=None)
    if not answer.is_success:
        raise LoginFailed(f"{where} refused the login ({answer.status_code})")
    try:
        found = answer.json()
        token = found.get("token") or found.get("access_token")
    except (ValueError, AttributeError) as error:
        raise LoginFailed(f"{where} answered the login with no JSON object") from error
    if not isinstance(token, str) or not token:
        raise LoginFailed(f"{where} answered the login without a token")
    return token
