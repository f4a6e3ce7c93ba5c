"""Every error of the API has one shape, and says what to do. The names are OpenAI's where its clients read them."""

import math
from typing import Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

Code = Literal[
    "bad_json", "bad_request", "body_too_large", "broken", "content_encoding", "context_length_exceeded",
    "empty_message", "host_refused", "idempotency_mismatch", "key_missing", "key_refused", "media_type",
    "method_not_allowed", "model_busy", "no_tenant", "not_found", "not_let_in", "not_now", "origin_refused",
    "over_budget", "refused", "scope_missing", "too_many_messages", "too_many_waiting", "too_slow", "turn_failed",
    "turn_not_done", "unsupported", "user_not_yours",
]  # fmt: skip


class ApiProblem(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(frozen=True)

    code: Code
    message: str = Field(description="What happened, for a developer; of a turn what its person was told.")
    what_to_do: str
    type: str = Field(description="OpenAI's class of it: invalid_request_error, authentication_error and so on.")
    param: str | None = Field(None, description="The field that it is about.")
    retry_after_minutes: int | None = Field(None, description="Whole minutes, at least 1; only with status 429.")
    turn: str | None = Field(None, description="The turn it is about, where there is one.")


class ApiProblemAnswer(BaseModel):
    """The body of every answer from status 400 on."""

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
    """A request that is not answered as asked."""

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
        """`retry_after_s` is when to come back, where that is known."""
        super().__init__(message)
        self.status = status
        self.allow = ""  # with 405: the methods there are
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
        """As it is answered. Only who may try the same again at once is not told to leave it."""
        headers = {"Cache-Control": "no-store"}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if self.allow:
            headers["Allow"] = self.allow
        if self.retry_after_s is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after_s)))
        elif self.status >= 500 and self.status != 503:
            headers["x-should-retry"] = "false"  # OpenAI's clients would ask the same of the same turn again
        return web.Response(
            body=ApiProblemAnswer(error=self.problem).model_dump_json(exclude_none=True).encode(),
            status=self.status,
            content_type="application/json",
            headers=headers,
        )


OF_SERVER: dict[int, tuple[Code, str]] = {
    400: ("bad_request", "Send a whole HTTP request."),
    403: ("host_refused", "Ask under a name of http.allowed_hosts, and from a page of cors_origins."),
    404: ("not_found", "See /v1/docs for what there is."),
    405: ("method_not_allowed", "See /v1/docs for the method."),
    408: ("too_slow", "Send the whole body within its time."),
    413: ("body_too_large", "Send at most 1 MB."),
    415: ("content_encoding", "Send the body as it is, not compressed."),
}


def from_server(refused: web.HTTPException) -> ApiRefusal:
    """What the server itself refuses, in the one shape."""
    code, what_to_do = OF_SERVER.get(refused.status, ("refused", "See /v1/docs."))
    refusal = ApiRefusal(refused.status, code, (refused.text or refused.reason).strip(), what_to_do)
    refusal.allow = refused.headers.get("Allow", "")
    return refusal
