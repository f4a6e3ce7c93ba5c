"""Calls of the client-server API over aiohttp, one try each.

Source: spec.matrix.org/v1.15/client-server-api (read 2026-11).
"""

from collections.abc import Mapping
from urllib.parse import quote

from aiohttp import ClientError, ClientSession, ClientTimeout
from yarl import URL

from channels.chat.downloads import check_size, download
from channels.chat.http_answers import TooLong, to_foreign_error, to_transport_error, whole
from channels.chat.refusals import ApiRefusal, RefusalTable
from channels.clocks import wall_now
from channels.errors import ChannelError, ConfigRefused, PermanentKind, Unknown
from channels.foreign import JsonObject, decode_json, number_of, seconds_of, wait_of, words_of
from tenk_matrix.config import MatrixAccount

CLIENT = "/_matrix/client/v3/"
MAX_FILE_BYTES = 50_000_000  # a homeserver's usual limit
CONNECT_S, CALL_S, LONG_CALL_S = 10.0, 30.0, 120.0  # limits; long calls carry files, or the news of all rooms

REFUSALS = RefusalTable(
    kinds={
        "M_FORBIDDEN": PermanentKind.BLOCKED,  # we are not in the room, or may not write there
        "M_NOT_FOUND": PermanentKind.BLOCKED,
        "M_BAD_JSON": PermanentKind.MALFORMED,
        "M_NOT_JSON": PermanentKind.MALFORMED,
        "M_INVALID_PARAM": PermanentKind.MALFORMED,
        "M_TOO_LARGE": PermanentKind.TOO_LARGE,
    },
    later=frozenset({"M_LIMIT_EXCEEDED", "M_RESOURCE_LIMIT_EXCEEDED", "M_USER_SUSPENDED"}),
    later_statuses=frozenset({401}),
)


def path_of(*segments: str, base: str = CLIENT) -> str:
    """Return the path of a call; ids in it may contain anything."""
    return base + "/".join([quote(segment, safe="") for segment in segments])


def token_refused(account: str, refusal: ApiRefusal) -> ConfigRefused | None:
    """Return the error that ends the channel if its access token is refused."""
    if refusal.status != 401:
        return None
    return ConfigRefused(
        f"Matrix: the access token of account {account!r} is refused ({refusal.code}); get a new one, "
        "set access_token to it, then restart"
    )


class MatrixWire:
    """Calls of one account over one session. Errors never hold the token."""

    def __init__(self, config: MatrixAccount) -> None:
        self._config = config
        self._session: ClientSession | None = None

    @property
    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._config.access_token.get_secret_value()}"}

    def _open(self) -> ClientSession:
        """Return the session, made at its first use: it belongs to the running loop."""
        if self._session is None or self._session.closed:
            self._session = ClientSession()
        return self._session

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(
        self,
        method: str,
        path: str,
        body: JsonObject | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content: tuple[bytes, str] | None = None,
        timeout_s: float = CALL_S,
    ) -> JsonObject:
        """Make one call with a JSON body, or with `content` and its type; return the JSON object answered.

        Raises:
            ApiRefusal: the homeserver refused the call.
            Retryable, Unknown: there is no answer, or another server's.
        """
        failure: ChannelError | ApiRefusal
        url = URL(self._config.api_base + path, encoded=True).extend_query(query or {})
        headers = {**self._headers, **({} if content is None else {"Content-Type": content[1]})}
        data = None if content is None else content[0]
        timeout = ClientTimeout(total=timeout_s, sock_connect=CONNECT_S)
        try:
            async with self._open().request(
                method, url, json=body, data=data, headers=headers, timeout=timeout, allow_redirects=False
            ) as answer:
                found = decode_json(await whole(answer))
                if answer.status == 200 and isinstance(found, dict):
                    return found
                failure = _failure_of(path, answer.status, found, answer.headers)
        except TooLong:
            failure = ApiRefusal(413, "M_TOO_LARGE", "the answer is too long to be read")
        except (ClientError, TimeoutError, OSError) as error:
            failure = to_transport_error(error, f"{path}: {type(error).__name__}")
        raise failure  # outside the handler: the caught error may hold the request

    async def send(self, room: str, kind: str, key: str, content: JsonObject) -> str:
        """Send an event; the homeserver shows one for all attempts with the same key. Return its id."""
        answer = await self.call("PUT", path_of("rooms", room, "send", kind, key), content)
        event_id = answer.get("event_id")
        if not isinstance(event_id, str):
            raise Unknown("a send was answered without an event_id")
        return event_id

    async def upload(self, name: str, mime: str, content: bytes) -> str:
        """Upload a file, which no one sees yet; return its mxc URI."""
        check_size(len(content), MAX_FILE_BYTES)
        path = path_of("upload", base="/_matrix/media/v3/")
        answer = await self.call("POST", path, query={"filename": name}, content=(content, mime), timeout_s=LONG_CALL_S)
        return str(answer.get("content_uri"))

    async def download(self, uri: str, max_bytes: int) -> bytes:
        """Return the content of an mxc URI.

        Raises:
            Permanent, Retryable: see `channels.chat.downloads.download`.
        """
        server, _, media = uri.removeprefix("mxc://").partition("/")
        path = path_of(server, media, base="/_matrix/client/v1/media/download/")
        timeout = ClientTimeout(total=LONG_CALL_S, sock_connect=CONNECT_S)
        url = self._config.api_base + path
        return await download(self._open(), url, max_bytes, headers=self._headers, timeout=timeout)


def _failure_of(path: str, status: int, found: object, headers: Mapping[str, str]) -> ChannelError | ApiRefusal:
    code = found.get("errcode") if isinstance(found, dict) else "M_TOO_LARGE" if status == 413 else None
    wait_s = wait_of(headers.get("Retry-After"), wall_now())
    if not isinstance(code, str):
        return to_foreign_error("a Matrix homeserver", status, wait_s)
    said = found if isinstance(found, dict) else {}
    wait_ms = number_of(said.get("retry_after_ms"))
    wait_s = wait_s if wait_ms is None else seconds_of(wait_ms / 1000)
    words = words_of(f"{path.removeprefix(CLIENT).partition('/')[0]}: {code} {said.get('error') or ''}", 200)
    return ApiRefusal(status, code, words, retry_after_s=wait_s)
