"""An OAuth 2.0 server on loopback that agrees at once, checks PKCE, and gives each code once (RFC 6749, RFC 7636)."""

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

from aiohttp import web

CLIENT = "tenk-test-client"


@dataclass
class OAuthServer:
    """An OAuth server that listens on 127.0.0.1 while its context is open."""

    requests: list[dict[str, str]] = field(default_factory=list)  # fields of each request to the token URL
    headers: list[dict[str, str]] = field(default_factory=list)
    given: list[str] = field(default_factory=list)  # every secret it gave
    html: bool = False  # the token URL answers with a page
    fails: int = 0  # its status, where it fails
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)  # by code, what it was asked with
    _refresh: set[str] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/authorize", self._authorize)
        app.router.add_post("/token", self._token)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _authorize(self, request: web.Request) -> web.Response:
        asked = dict(request.query)
        wanted = {"response_type": "code", "client_id": CLIENT, "code_challenge_method": "S256"}
        if any(asked.get(name) != value for name, value in wanted.items()) or len(asked.get("state", "")) < 32:
            return web.Response(status=400, text=f"not as it should be: {sorted(asked)}")
        code = secrets.token_urlsafe(16)
        self.given.append(code)
        self._codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"]})
        return web.Response(status=302, headers={"Location": f"{asked['redirect_uri']}?{back}"})

    async def _token(self, request: web.Request) -> web.Response:
        body = (await request.read()).decode()
        fields: dict[str, str] = (
            json.loads(body) if request.content_type == "application/json" else dict(parse_qsl(body))
        )
        self.requests.append(fields)
        self.headers.append(dict(request.headers))
        if self.html:
            return web.Response(text="<html><body>Sign in</body></html>", content_type="text/html")
        if self.fails:
            return web.Response(status=self.fails, text="no")
        refusal = self._refusal(fields)
        return web.json_response({"error": refusal}, status=400) if refusal else web.json_response(self._tokens())

    def _refusal(self, fields: dict[str, str]) -> str:
        if fields.get("client_id") != CLIENT:
            return "invalid_client"
        if fields.get("grant_type") == "refresh_token":
            known = fields.get("refresh_token", "") in self._refresh
            self._refresh.discard(fields.get("refresh_token", ""))
            return "" if known else "invalid_grant"
        asked = self._codes.pop(fields.get("code", ""), None)
        digest = hashlib.sha256(fields.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        good = asked is not None and (asked["code_challenge"], asked["redirect_uri"]) == (
            challenge,
            fields.get("redirect_uri"),
        )
        return "" if good else "invalid_grant"

    def _tokens(self) -> dict[str, Any]:
        access, refresh = f"access-{secrets.token_urlsafe(12)}", f"refresh-{secrets.token_urlsafe(12)}"
        self.given += [access, refresh]
        self._refresh.add(refresh)
        return {"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600}
