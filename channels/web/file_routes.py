"""Upload and download of a page's files, within limits.

No name is used as a path, and only files that are pictures by their bytes are shown. The gateway decides what a model
sees of them.
"""

import re
from collections.abc import Callable

from aiohttp import web

from channels.base import NotPersisted
from channels.viewers.viewer_frames import MOST_NUMBERS
from channels.viewers.viewer_socket import OFFER_AGAIN_S
from channels.web.attached import MAX_FILE_BYTES, to_own_response, to_response
from channels.web.bounds import BYTES_OF_MESSAGE
from channels.web.open_pages import Caller, OpenPages
from channels.web.page_files import PageTexts
from channels.web.past_messages import Records

_OWN_ID = re.compile(r"[A-Za-z0-9_-]{8,64}\Z")
_NUMBER = re.compile(r"[0-9]{1,2}\Z")


class FileRoutes:
    """The HTTP handler of files."""

    def __init__(self, records: Records, pages: OpenPages, may_send: Callable[[str], bool], texts: PageTexts) -> None:
        """`may_send` is called with a chat: strangers may not upload."""
        self._records = records
        self._pages = pages
        self._may_send = may_send
        self._texts = texts

    async def upload(self, caller: Caller, request: web.Request) -> web.Response:
        """Store a file for a message that is still being written; a repetition changes nothing."""
        handle = _handle(caller.chat, request)
        locale, size_bytes = caller.visitor.locale, request.content_length
        if handle is None:
            raise web.HTTPBadRequest(text="which file of which message?\n")
        if request.content_type != "application/octet-stream":
            raise web.HTTPUnsupportedMediaType(text="a file is taken as application/octet-stream\n")
        if size_bytes is None:
            raise web.HTTPLengthRequired(text="how long is it?\n")
        if not self._may_send(caller.chat):
            raise web.HTTPForbidden(text=f"{self._texts.text(locale, 'page.files_not_yet')}\n")
        if size_bytes > MAX_FILE_BYTES:
            raise web.HTTPRequestEntityTooLarge(MAX_FILE_BYTES, size_bytes, text="the file is over 8 MB\n")
        if wait_s := self._pages.bounds.count_message(caller.chat, caller.address, 1 + size_bytes / BYTES_OF_MESSAGE):
            words = self._texts.text(locale, "page.files_wait", seconds=wait_s)
            raise web.HTTPTooManyRequests(text=f"{words}\n", headers={"Retry-After": str(wait_s)})
        content = await request.content.read(-1)  # limited by its Content-Length, at which the server ends the body
        try:
            await self._records.keep_file(handle, content)
        except NotPersisted:
            raise web.HTTPServiceUnavailable(headers={"Retry-After": str(OFFER_AGAIN_S)}) from None
        return web.json_response({"bytes": len(content)}, headers={"Cache-Control": "no-store"})

    async def give(self, chat: str, request: web.Request, locale: str | None) -> web.Response:
        """Answer with a file of ours, or one of the person's own."""
        message_id, _, number = request.query.get("id", "").rpartition(".")
        handle = _handle(chat, request)
        try:
            if _NUMBER.match(number) and (file := await self._records.find_sent_file(chat, message_id, int(number))):
                return to_response(file)
            if handle is not None and (content := await self._records.find_file(handle)) is not None:
                return to_own_response(content)
        except NotPersisted:
            raise web.HTTPServiceUnavailable(headers={"Retry-After": str(OFFER_AGAIN_S)}) from None
        raise web.HTTPNotFound(text=f"{self._texts.text(locale, 'page.file_gone')}\n")


def _handle(chat: str, request: web.Request) -> str | None:
    """Return the key of a file: chat, message and number; None if the query is invalid."""
    message, number = request.query.get("of", ""), request.query.get("number", "")
    if not (_OWN_ID.match(message) and _NUMBER.match(number) and int(number) < MOST_NUMBERS):
        return None
    return f"{chat}:{message}:{int(number)}"
