"""Web API calls through slack_sdk's client, one try each; `error_mapping` explains refusals.

The SDK's retry handlers are off: a post that may have arrived must not be repeated.
"""

import io
import logging
from collections.abc import Mapping
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout, TraceConfig
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from slack_sdk.webhook.async_client import AsyncWebhookClient

from channels.chat.downloads import download
from channels.chat.http_answers import (
    BoundedResponse,
    RedirectRefused,
    refuse_redirect,
    to_foreign_error,
    to_transport_error,
)
from channels.chat.refusals import ApiRefusal
from channels.clocks import wall_now
from channels.errors import ChannelError, Permanent, Retryable, Unknown
from channels.foreign import JsonObject, wait_of
from channels.slack.config import SlackAccount
from channels.slack.error_mapping import refusal_of

SDK_ERRORS = (ValueError, AttributeError, TypeError, LookupError, RecursionError)
"""Exceptions of the SDK for malformed answers."""

USED_UP = (404, 410)  # of a response URL: expired, or used five times


def quiet_logger() -> logging.Logger:
    """Return a silent logger for the SDK, whose debug log would show secrets and format every call."""
    logger = logging.Logger("slack_sdk", logging.CRITICAL)  # noqa: LOG001  without a parent it logs nowhere
    logger.addHandler(logging.NullHandler())
    return logger


class SlackWire:
    """Calls of one app, over one session with persistent connections. Errors never hold a token."""

    def __init__(self, config: SlackAccount) -> None:
        self._config = config
        self._client: AsyncWebClient | None = None
        self._session: ClientSession | None = None

    def __repr__(self) -> str:
        return f"SlackWire({self._config.api_base!r})"

    @property
    def session(self) -> ClientSession:
        """Return the session, created at its first use (it belongs to the running loop)."""
        if self._session is None or self._session.closed:
            timeout = ClientTimeout(total=self._config.call_timeout_s, connect=self._config.connect_timeout_s)
            self._session = ClientSession(
                timeout=timeout, trace_configs=[_no_redirects()], response_class=BoundedResponse
            )
            self._client = None
        return self._session

    @property
    def client(self) -> AsyncWebClient:
        """Return the SDK's client over the session."""
        session = self.session
        if self._client is None:
            self._client = AsyncWebClient(
                token=self._config.bot_token.get_secret_value(),
                base_url=self._config.api_url,
                session=session,
                retry_handlers=[],
                logger=quiet_logger(),
            )
        return self._client

    async def post(self, method: str, body: Mapping[str, object]) -> JsonObject:
        """Make a call that changes something, with its arguments as a JSON body.

        Raises:
            ApiRefusal: Slack refused the call.
            Retryable: no connection.
            Unknown: no answer, or an unreadable one.
        """
        return await self._call(method, "POST", json=dict(body))

    async def get(self, method: str, **arguments: str | int | bool) -> JsonObject:
        """Make a call that reads. Raises as `post` does."""
        return await self._call(method, "GET", params=arguments)

    async def form(self, method: str, *, token: str | None = None, **arguments: str | int) -> JsonObject:
        """Make a call with its arguments in the query, as the SDK sends reactions and files. Raises as `post` does."""
        headers = {"Authorization": f"Bearer {token}"} if token is not None else None
        return await self._call(method, "POST", params=arguments, headers=headers)

    async def _call(self, method: str, verb: str, **arguments: object) -> JsonObject:
        failure: ChannelError | ApiRefusal
        try:
            answer = await self.client.api_call(method, http_verb=verb, **arguments)  # type: ignore[arg-type]  # arguments of the three callers
            data = answer.data
            if isinstance(data, dict) and data.get("ok") is True:
                return data | _header_facts(answer)
            failure = Unknown(f"{method}: not an answer of Slack's")
        except SlackApiError as error:
            failure = _refusal(method, error)
        except RedirectRefused:
            failure = to_foreign_error("Slack", 302)
        except (ClientError, TimeoutError, OSError) as error:
            failure = to_transport_error(error, self._without_token(f"{method}: {type(error).__name__}: {error}"))
        except SDK_ERRORS as error:
            failure = Unknown(f"{method}: an answer that cannot be read ({type(error).__name__})")
        raise failure  # outside the handler: the caught exception may hold the token

    async def respond(self, url: str, body: Mapping[str, object]) -> bool:
        """Post to a response URL; return False if it is used up.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`.
        """
        if urlsplit(url).netloc not in self._config.hook_hosts:
            raise Permanent("a response URL that does not lead to Slack")
        client = AsyncWebhookClient(url, session=self.session, retry_handlers=[], logger=quiet_logger())
        try:
            answer = await client.send_dict(dict(body))
        except RedirectRefused:
            raise to_foreign_error("Slack", 302) from None
        except (ClientError, TimeoutError, OSError, ValueError, LookupError) as error:  # also for an undecodable body
            raise to_transport_error(error, f"response_url: {type(error).__name__}") from None
        if answer.status_code == 200:
            return True
        if answer.status_code in USED_UP:
            return False
        if answer.status_code == 429:
            raise Retryable("response_url: 429", retry_after_s=_seconds(answer.headers))
        if answer.status_code >= 500:
            raise Unknown(f"response_url: {answer.status_code}")
        raise Permanent(f"response_url: {answer.status_code} {answer.body[:100]}")

    async def upload(self, url: str, content: bytes) -> None:
        """Post a file's bytes to Slack's upload URL; people do not see it yet.

        Raises:
            Retryable: it failed; make a new upload.
        """
        try:
            async with self.session.post(url, data=io.BytesIO(content)) as answer:
                if answer.status == 200:
                    return
                words = f"upload: {answer.status}"
        except (ClientError, TimeoutError, OSError) as error:
            words = f"upload: {type(error).__name__}"
        raise Retryable(words)

    async def download(self, url: str, max_bytes: int) -> bytes:
        """Return a file's content. The token goes only to Slack's own file host, and follows no redirect.

        Raises:
            Permanent: too large, gone, or not on Slack's file host.
            Retryable: Slack does not deliver it now.
        """
        parts = urlsplit(url)
        if parts.netloc not in self._config.file_hosts or parts.scheme != urlsplit(self._config.api_base).scheme:
            raise Permanent("a file that is not on Slack's file host")
        headers = {"Authorization": f"Bearer {self._config.bot_token.get_secret_value()}"}
        hint = "the app may miss the scope files:read"  # Slack answers with a page to sign in
        return await download(self.session, url, max_bytes, headers=headers, hint=hint, page_type="text/html")

    def _without_token(self, text: str) -> str:
        text = text.replace(self._config.bot_token.get_secret_value(), "<token>")
        app_token = self._config.app_token
        return text.replace(app_token.get_secret_value(), "<token>") if app_token is not None else text

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


def next_cursor(answer: JsonObject) -> str:
    """Return the cursor of a list's next page; "" after the last."""
    metadata = answer.get("response_metadata")
    return str(metadata.get("next_cursor") or "") if isinstance(metadata, dict) else ""


def _refusal(method: str, error: SlackApiError) -> ApiRefusal | ChannelError:
    """Return the refusal in the SDK's error."""
    answer = error.response
    if not isinstance(answer, AsyncSlackResponse) or not isinstance(answer.data, dict) or "error" not in answer.data:
        status = getattr(answer, "status_code", None) or getattr(answer, "status", None)
        if status == 429:
            wait_s = _seconds(getattr(answer, "headers", {})) or 1.0
            return refusal_of(method, "ratelimited", status=429, retry_after_s=wait_s)
        return to_foreign_error("Slack", status)
    return refusal_of(
        method,
        str(answer.data["error"]),
        status=answer.status_code,
        needed=str(answer.data.get("needed") or ""),
        retry_after_s=_seconds(answer.headers),
    )


def _header_facts(answer: AsyncSlackResponse) -> JsonObject:
    """Return the scopes of the calling token, which Slack sends in a header."""
    scopes = answer.headers.get("x-oauth-scopes")
    return {"x_oauth_scopes": scopes} if isinstance(scopes, str) else {}


def _seconds(headers: Mapping[str, str]) -> float | None:
    return wait_of(headers.get("Retry-After") or headers.get("retry-after"), wall_now())


def _no_redirects() -> TraceConfig:
    traces = TraceConfig()
    traces.on_request_redirect.append(refuse_redirect)
    return traces
