"""The requests by which another browser becomes the same person: offer, ask, decide, take. Each is asked who it is."""

from collections.abc import Callable
from typing import Annotated, Literal, NoReturn

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from channels.base import NotPersisted
from channels.viewers.viewer_hub import Frame
from channels.web.bounds import address_of
from channels.web.devices import LINK_S, DeviceLinks
from channels.web.open_pages import OpenPages
from channels.web.page_files import PageTexts
from channels.web.recollection import Records
from channels.web.visitor import Identities, Identity, locale_of

MAX_ASKED_BYTES = 2_000


class _Asked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class OfferLink(_Asked):
    """Make a link."""

    do: Literal["offer"]


class OpenLink(_Asked):
    """Open one."""

    do: Literal["ask"]
    code: str = Field(pattern=r"^[A-Za-z0-9_-]{32}$")


class DecideLink(_Asked):
    """Say whether the browser that shows a number may go on."""

    do: Literal["decide"]
    number: str = Field(pattern=r"^[0-9]{2}$")
    allow: bool


class TakeLink(_Asked):
    """Become the person, where they said yes."""

    do: Literal["take"]
    claim: str = Field(pattern=r"^[A-Za-z0-9_-]{32}$")


_ASKED: TypeAdapter[OfferLink | OpenLink | DecideLink | TakeLink] = TypeAdapter(
    Annotated[OfferLink | OpenLink | DecideLink | TakeLink, Field(discriminator="do")]
)


class DeviceDoor:
    """Where browsers ask."""

    def __init__(
        self,
        links: DeviceLinks,
        pages: OpenPages,
        identities: Identities,
        records: Records,
        is_known: Callable[[str], bool],
        texts: PageTexts,
    ) -> None:
        """`is_known` tells, by the chat, whom the gateway knows: a nobody has nothing to go on with."""
        self._links = links
        self._pages = pages
        self._identities = identities
        self._records = records
        self._is_known = is_known
        self._texts = texts

    async def answer(self, request: web.Request) -> web.Response:
        """Do what is asked."""
        identity = self._who(request)
        match await _read(request):
            case OfferLink():
                return self._offer(identity, request)
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
        if wait_s := self._pages.bounds.link(address_of(request.remote)):
            raise web.HTTPTooManyRequests(headers={"Retry-After": str(wait_s)})
        identity = self._identities.of(request)
        if identity is None:
            raise web.HTTPUnauthorized(text="ask /web/session first\n")
        return identity

    def _offer(self, identity: Identity, request: web.Request) -> web.Response:
        if not self._is_known(identity.chat):
            self._refuse(request, "page.device_nobody")
        return _json({"code": self._links.offer(identity.secret, identity.chat), "for_s": LINK_S})

    def _ask(self, identity: Identity, code: str, request: web.Request) -> web.Response:
        if self._is_known(identity.chat):
            self._refuse(request, "page.device_taken")
        opened = self._links.ask(code)
        if opened is None:
            self._refuse(request, "page.device_void")
        chat, claim, number = opened
        self._pages.hub.tell(chat, {"type": "device", "number": number})
        return _json({"claim": claim, "number": number})

    async def _take(self, claim: str, request: web.Request) -> web.Response:
        secret = self._links.take(claim)
        if secret is None:
            self._refuse(request, "page.device_void")
        if not secret:
            return _json({"waits": True})
        identity = Identity(secret, fresh=True)
        try:
            await self._records.note_device(identity.chat, request.headers.get("User-Agent", ""))
        except NotPersisted:
            raise web.HTTPServiceUnavailable(headers={"Retry-After": "2"}) from None
        answer = _json({"chat": identity.chat})
        self._identities.give(answer, identity, request)
        self._pages.hub.tell(identity.chat, {"type": "device", "number": ""})
        return answer

    def _refuse(self, request: web.Request, key: str) -> NoReturn:
        raise web.HTTPForbidden(text=f"{self._texts.text(locale_of(request), key)}\n")


async def _read(request: web.Request) -> OfferLink | OpenLink | DecideLink | TakeLink:
    if request.content_type != "application/json" or (request.content_length or 0) > MAX_ASKED_BYTES:
        raise web.HTTPUnsupportedMediaType(text="a short JSON object is taken here\n")
    try:
        return _ASKED.validate_json(await request.read())
    except ValidationError:
        raise web.HTTPBadRequest(text="this is none of: offer, ask, decide, take\n") from None


def _json(body: Frame) -> web.Response:
    return web.Response(body=orjson.dumps(body), content_type="application/json", headers={"Cache-Control": "no-store"})
