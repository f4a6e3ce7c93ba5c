"""Linking a second browser (offer, confirm the number, accept) and signing browsers out.

Links are in memory. Each request (offer, ask, decide, take, list, out) is authenticated by its cookie.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, NoReturn

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from channels.base import NotPersisted
from channels.bounded_dict import BoundedDict
from channels.viewers.viewer_hub import Frame
from channels.web.bounds import address_of
from channels.web.open_pages import OpenPages
from channels.web.page_files import PageTexts
from channels.web.past_messages import Records
from channels.web.visitor import Identities, Identity, locale_of

LINK_S = 600.0
MOST_LINKS = 1_000
"""Maximum open links; the oldest are dropped."""


@dataclass(slots=True)
class _Link:
    """One link and its state."""

    secret: str  # of the identity that made it
    chat: str
    until_s: float
    claim: str = ""  # token of the browser that opened it; "": not opened
    number: str = ""  # shown on both sides
    allowed: bool = False


class DeviceLinks:
    """The links of one web chat; a person has one at a time."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self.now_s = now_s
        self._by_code: BoundedDict[str, _Link] = BoundedDict(MOST_LINKS)

    def offer(self, secret: str, chat: str) -> str:
        """Return the code of a new link, and withdraw the person's earlier one."""
        self.withdraw(chat)
        code = secrets.token_urlsafe(24)
        self._by_code[_digest(code)] = _Link(secret, chat, self.now_s() + LINK_S)
        return code

    def withdraw(self, chat: str) -> None:
        """Withdraw the person's link."""
        for digest in [digest for digest, link in self._by_code.items() if link.chat == chat]:
            del self._by_code[digest]

    def ask(self, code: str) -> tuple[str, str, str] | None:
        """Open a link; return its chat, a claim and a number, or None if it is invalid or was opened before."""
        link = self._by_code.get(_digest(code))
        if link is None or link.claim or link.until_s <= self.now_s():
            return None
        link.claim, link.number = secrets.token_urlsafe(24), f"{secrets.randbelow(90) + 10}"
        return link.chat, link.claim, link.number

    def decide(self, chat: str, number: str, *, allow: bool) -> bool:
        """Allow or deny the browser that shows this number; return False if there is none."""
        for link in self._by_code.values():
            if link.chat == chat and link.claim and secrets.compare_digest(link.number, number):
                if not allow:
                    self.withdraw(chat)
                link.allowed = allow
                return True
        return False

    def redeem(self, claim: str) -> str | None:
        """Return the identity's secret, once; "" if the person has not decided; None if denied or expired."""
        for digest, link in list(self._by_code.items()):
            if link.claim and secrets.compare_digest(link.claim, claim):
                if link.until_s <= self.now_s():
                    return None
                if not link.allowed:
                    return ""
                del self._by_code[digest]
                return link.secret
        return None


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()


MAX_ASKED_BYTES = 2_000
NOTE_EVERY_S = 600.0
MOST_NOTED = 10_000


class _Asked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class OfferLink(_Asked):
    """Request for a new link."""

    do: Literal["offer"]


class OpenLink(_Asked):
    """Request to open a link."""

    do: Literal["ask"]
    code: str = Field(pattern=r"^[A-Za-z0-9_-]{32}$")


class DecideLink(_Asked):
    """The person's decision about the browser that shows a number."""

    do: Literal["decide"]
    number: str = Field(pattern=r"^[0-9]{2}$")
    allow: bool


class TakeLink(_Asked):
    """Request to become the person, if they allowed it."""

    do: Literal["take"]
    claim: str = Field(pattern=r"^[A-Za-z0-9_-]{32}$")


class ListDevices(_Asked):
    """Request for the list of the person's browsers."""

    do: Literal["list"]


class SignOut(_Asked):
    """Request to sign out one browser; None: all but the requesting one."""

    do: Literal["out"]
    device: str | None = Field(pattern=r"^([A-Za-z0-9_-]{11})?$")


_Wish = OfferLink | OpenLink | DecideLink | TakeLink | ListDevices | SignOut
_ASKED: TypeAdapter[_Wish] = TypeAdapter(
    Annotated[_Wish, Field(discriminator="do")], config=ConfigDict(defer_build=True)
)


class DeviceRoutes:
    """The HTTP handler of device requests."""

    def __init__(
        self,
        links: DeviceLinks,
        pages: OpenPages,
        identities: Identities,
        records: Records,
        texts: PageTexts,
        out: set[tuple[str, str]],
    ) -> None:
        """`out` collects signed-out browsers by chat and device id."""
        self._out = out
        self._now_s = links.now_s
        self._noted_at_s: BoundedDict[tuple[str, str], float] = BoundedDict(MOST_NOTED)
        self._links = links
        self._pages = pages
        self._identities = identities
        self._records = records
        self._texts = texts

    async def answer(self, request: web.Request) -> web.Response:
        """Handle one device request."""
        identity = self._who(request)
        match await _read(request):
            case OfferLink():
                await self.note(identity, request)
                return self._offer(identity, request)
            case ListDevices():
                return await self._list(identity, request)
            case SignOut(device=device):
                return await self._sign_out(identity, device)
            case OpenLink(code=code):
                return self._ask(identity, code, request)
            case DecideLink(number=number, allow=allow):
                if not self._links.decide(identity.chat, number, allow=allow):
                    self._refuse(request, "page.device_void")
                return _json({"allowed": allow})
            case TakeLink(claim=claim):
                return await self._take(claim, request)

    def _who(self, request: web.Request) -> Identity:
        if self._pages.inbox.sink is None:
            raise web.HTTPServiceUnavailable(headers={"Retry-After": "2"})
        if wait_s := self._pages.bounds.count_request(address_of(request.remote)):
            raise web.HTTPTooManyRequests(headers={"Retry-After": str(wait_s)})
        identity = self._identities.of(request)
        if identity is None:
            raise web.HTTPUnauthorized(text="ask /web/session first\n")
        return identity

    def _offer(self, identity: Identity, request: web.Request) -> web.Response:
        if not self._identities.is_known(identity.chat):
            self._refuse(request, "page.device_nobody")
        return _json({"code": self._links.offer(identity.secret, identity.chat), "for_s": LINK_S})

    def _ask(self, identity: Identity, code: str, request: web.Request) -> web.Response:
        if self._identities.is_known(identity.chat):
            self._refuse(request, "page.device_taken")
        opened = self._links.ask(code)
        if opened is None:
            self._refuse(request, "page.device_void")
        chat, claim, number = opened
        self._pages.hub.tell(chat, {"type": "device", "number": number})
        return _json({"claim": claim, "number": number})

    async def _take(self, claim: str, request: web.Request) -> web.Response:
        secret = self._links.redeem(claim)
        if secret is None:
            self._refuse(request, "page.device_void")
        if not secret:
            return _json({"waits": True})
        identity = self._identities.add_device(secret)
        try:
            await self._records.note_device(identity.chat, request.headers.get("User-Agent", ""))
            await self.note(identity, request)
        except NotPersisted:
            raise web.HTTPServiceUnavailable(headers={"Retry-After": "2"}) from None
        answer = _json({"chat": identity.chat})
        self._identities.give(answer, identity, request)
        self._pages.hub.tell(identity.chat, {"type": "device", "number": ""})
        return answer

    async def note(self, identity: Identity, request: web.Request) -> None:
        """Record a known person's browser as seen, at most every ten minutes.

        Raises:
            NotPersisted: it was not stored.
        """
        place, now_s = (identity.chat, identity.device), self._now_s()
        if (
            not self._identities.is_known(identity.chat)
            or now_s - self._noted_at_s.get(place, -NOTE_EVERY_S) < NOTE_EVERY_S
        ):
            return
        await self._records.see_device(*place, request.headers.get("User-Agent", ""))
        self._noted_at_s[place] = now_s

    async def _list(self, identity: Identity, request: web.Request) -> web.Response:
        if not self._identities.is_known(identity.chat):
            self._refuse(request, "page.device_nobody")
        try:
            await self.note(identity, request)
            found = await self._records.devices(identity.chat)
        except NotPersisted:
            raise web.HTTPServiceUnavailable(headers={"Retry-After": "2"}) from None
        return _json(
            {
                "devices": [
                    {
                        "id": each.id,
                        "browser": each.browser,
                        "here": each.id == identity.device,
                        "seen_at": each.seen_at.isoformat(),
                    }
                    for each in found
                ]
            }
        )

    async def _sign_out(self, identity: Identity, device: str | None) -> web.Response:
        """Sign out browsers and close all pages of the chat; the others reconnect."""
        chat = identity.chat
        try:
            known = [each.id for each in await self._records.devices(chat)]
            wanted = [device] if device is not None else [each for each in known if each != identity.device]
            out = await self._records.sign_out(chat, wanted)
        except NotPersisted:
            raise web.HTTPServiceUnavailable(headers={"Retry-After": "2"}) from None
        self._out.update((chat, each) for each in out)
        self._links.withdraw(chat)
        for viewer in self._pages.hub.of(chat):
            viewer.close()
        return _json({"out": len(wanted)})

    def _refuse(self, request: web.Request, key: str) -> NoReturn:
        raise web.HTTPForbidden(text=f"{self._texts.text(locale_of(request), key)}\n")


async def _read(request: web.Request) -> _Wish:
    if request.content_type != "application/json" or (request.content_length or 0) > MAX_ASKED_BYTES:
        raise web.HTTPUnsupportedMediaType(text="a short JSON object is taken here\n")
    try:
        return _ASKED.validate_json(await request.read())
    except ValidationError:
        raise web.HTTPBadRequest(text="this is none of: offer, ask, decide, take, list, out\n") from None


def _json(body: Frame) -> web.Response:
    return web.Response(body=orjson.dumps(body), content_type="application/json", headers={"Cache-Control": "no-store"})
