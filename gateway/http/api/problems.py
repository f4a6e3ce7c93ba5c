"""Errors of the API: one JSON shape for all, with a remedy. Names follow OpenAI's where its clients read them."""

import math
from typing import Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

Code = Literal[
    "bad_json",
    "bad_request",
    "body_too_large",
    "broken",
    "content_encoding",
    "context_length_exceeded",
    "empty_message",
    "host_refused",
    "idempotency_mismatch",
    "key_missing",
    "key_refused",
    "media_type",
    "method_not_allowed",
    "model_busy",
    "no_tenant",
    "not_found",
    "not_let_in",
    "not_now",
    "origin_refused",
    "over_budget",
    "refused",
    "scope_missing",
    "too_many_messages",
    "too_many_waiting",
    "too_slow",
    "turn_failed",
    "turn_not_done",
    "unsupported",
    "user_not_yours",
]


class ApiProblem(BaseModel):
    """One error."""

    model_config = ConfigDict(frozen=True)

    code: Code
    message: str = Field(description="The problem, for a developer; for a failed turn, the message to its person.")
    what_to_do: str
    type: str = Field(description="OpenAI's error class: invalid_request_error, authentication_error and so on.")
    param: str | None = Field(None, description="The field with the problem.")
    retry_after_minutes: int | None = Field(None, description="Whole minutes, at least 1; only with status 429.")
    turn: str | None = Field(None, description="The turn with the problem, if any.")


class ApiProblemAnswer(BaseModel):
    """The body of every error response."""

    model_config = ConfigDict(frozen=True)

    error: ApiProblem


TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "server_error",
    502: "server_error",
    503: "server_error",
    504: "server_error",
}


class ApiRefusal(Exception):
    """A refusal of a request, raised by handlers."""

    def __init__(
        self,
        status: int,
        code: Code,
        message: str,
        what_to_do: str,
        *,
        param: str | None = None,
        retry_after_s: float | None = None,
        turn: str | None = None,
    ) -> None:
        """Describe the refusal; `retry_after_s` says when to try again, if known."""
        super().__init__(message)
        self.status = status
        self.allow = ""  # allowed methods, with status 405
        self.retry_after_s = retry_after_s
        minutes = None
        if status == 429:
            minutes = max(1, math.ceil((retry_after_s or 60.0) / 60))
        self.problem = ApiProblem(
            code=code,
            message=message,
            what_to_do=what_to_do,
            type=TYPES.get(status, "invalid_request_error"),
            param=param,
            retry_after_minutes=minutes,
            turn=turn,
        )

    def to_response(self) -> web.Response:
        """Return the error response. It forbids a retry unless the same request may succeed later."""
        headers = {"Cache-Control": "no-store"}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if self.allow:
            headers["Allow"] = self.allow
        if self.retry_after_s is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after_s)))
        elif self.status >= 500 and self.status != 503:
            headers["x-should-retry"] = "false"  # or OpenAI's clients would repeat the request
        return web.Response(
            body=ApiProblemAnswer(error=self.problem).model_dump_json(exclude_none=True).encode(),
            status=self.status,
            content_type="application/json",
            headers=headers,
        )


OF_SERVER: dict[int, tuple[Code, str]] = {
    400: ("bad_request", "Send a whole HTTP request."),
    403: ("host_refused", "Use a host name of http.allowed_hosts, and a page of cors_origins."),
    404: ("not_found", "See /v1/docs for the routes."),
    405: ("method_not_allowed", "See /v1/docs for the method."),
    408: ("too_slow", "Send the whole body within its time."),
    413: ("body_too_large", "Send at most 1 MB."),
    415: ("content_encoding", "Send the body as it is, not compressed."),
}


def from_server(refused: web.HTTPException) -> ApiRefusal:
    """Convert an error of the HTTP server to the API's shape."""
    code, what_to_do = OF_SERVER.get(refused.status, ("refused", "See /v1/docs."))
    refusal = ApiRefusal(refused.status, code, (refused.text or refused.reason).strip(), what_to_do)
    refusal.allow = refused.headers.get("Allow", "")
    return refusal
