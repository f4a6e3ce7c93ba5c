"""OpenAI's chat completions as data: what its clients send, and what they read. Pure.

Source: platform.openai.com/docs/api-reference/chat (November 2026), and the models of the package `openai` 3.51. What a
client sets for a bare model (temperature, token limits) is taken and not obeyed: the agent has its own settings.
"""

import hashlib
import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import NAME, ApiModel
from gateway.http.api.turns import TokensUsed

MAX_MESSAGES = 2_000


class _Taken(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)  # clients send more than anybody can list


class CompletionPart(_Taken):
    """A part of a message; only text is read."""

    type: str = Field(max_length=64)
    text: str | None = None


class CompletionMessage(_Taken):
    """One message of the conversation as the client has it."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | tuple[CompletionPart, ...] | None = None


class StreamOptions(_Taken):
    """How a stream ends."""

    include_usage: bool | None = None


class CompletionRequest(_Taken):
    """A request for a completion: what is new in it is said to the agent, which remembers the rest by itself."""

    model: str = Field("", max_length=200, description="Any name: the agent that answers is the gateway's.")
    messages: tuple[CompletionMessage, ...] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    user: str | None = Field(None, max_length=512, description="Which of your users asks; none: `main`.")
    n: int | None = Field(1, description="1.")
    tools: tuple[dict[str, object], ...] | None = Field(None, description="None: the agent has its own.")
    tool_choice: object = None
    functions: tuple[dict[str, object], ...] | None = Field(None, description="None, as tools.")


class CompletionUsage(ApiModel):
    """Tokens, 0 where nobody counted them."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class AnsweredMessage(ApiModel):
    """The agent's answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class CompletionChoice(ApiModel):
    """The only one there is."""

    index: int = 0
    message: AnsweredMessage
    finish_reason: Literal["stop", "length"] = "stop"
    logprobs: None = None


class CompletionAnswer(ApiModel):
    """A whole completion."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[CompletionChoice, ...]
    usage: CompletionUsage


class ChunkDelta(ApiModel):
    """What comes on."""

    role: Literal["assistant"] | None = None
    content: str | None = None


class ChunkChoice(ApiModel):
    """The only one there is, piece by piece."""

    index: int = 0
    delta: ChunkDelta
    finish_reason: Literal["stop", "length"] | None = None
    logprobs: None = None


class CompletionChunk(ApiModel):
    """A piece of a completion."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]
    usage: CompletionUsage | None = None


class ModelCard(ApiModel):
    """A model that can be named."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelsAnswer(ApiModel):
    """The one agent there is."""

    object: Literal["list"] = "list"
    data: tuple[ModelCard, ...]


def words_to_say(request: CompletionRequest) -> str:
    """What the person said last: every user message behind the last one of the assistant.

    Raises:
        ApiRefusal: there is none, or the request asks what the agent does not do.
    """
    if request.tools or request.functions:
        raise _refuse_unsupported("tools", "the agent has its own tools", "Leave `tools` out.")
    if request.n not in {None, 1}:
        raise _refuse_unsupported("n", "there is one answer", "Leave `n` out.")
    said: list[str] = []
    for message in reversed(request.messages):
        if message.role == "assistant":
            break
        if message.role == "user":
            said.insert(0, _text_of(message))
    text = "\n\n".join(filter(None, said))
    if not text.strip():
        raise ApiRefusal(
            422, "empty_message", "no user message stands at the end", "Send what the person says last.",
            param="messages",
        )  # fmt: skip
    return text


def _text_of(message: CompletionMessage) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    others = sorted({part.type for part in message.content if part.type != "text"})
    if others:
        raise _refuse_unsupported("messages", f"only text is read here, not {others[0]}", "Send text.")
    return "\n".join(part.text or "" for part in message.content)


def session_of(request: CompletionRequest, named: str | None) -> str:
    """The conversation: the one that the client names, else known again by how it began.

    Raises:
        ApiRefusal: the name cannot be one.
    """
    if named is not None:
        if not re.fullmatch(NAME, named):
            raise ApiRefusal(
                422, "bad_request", "X-Tenk-Session is a name of 1 to 48 letters, digits, dots and dashes",
                "Send a short id.", param="X-Tenk-Session",
            )  # fmt: skip
        return named
    first = next((_text_of(message) for message in request.messages if message.role == "user"), "")
    return f"c-{_digest(first)[:16]}"


def user_named(user: str | None) -> str | None:
    """A client's user as a name of ours: as it is where it can be, else by its digest."""
    if user is None or not user:
        return None
    return user if re.fullmatch(NAME, user) else f"u-{_digest(user)[:32]}"


def fingerprint(request: CompletionRequest) -> str:
    """The same for the same messages: by it a client's own retry is known."""
    return _digest("\x00".join(f"{message.role}\x01{message.content!r}" for message in request.messages))


def to_usage(tokens: TokensUsed) -> CompletionUsage:
    """Tokens as OpenAI's clients add them up."""
    given, written = tokens.input_tokens or 0, tokens.output_tokens or 0
    return CompletionUsage(prompt_tokens=given, completion_tokens=written, total_tokens=given + written)


def finish_of(reason: str | None) -> Literal["stop", "length"]:
    """Why it ended."""
    return "length" if reason == "max_tokens" else "stop"


def more_of(told: str, text: str) -> str:
    """What is still to be written: a stream takes nothing back, so an answer that began anew stands under the first."""
    if text.startswith(told):
        return text[len(told) :]
    return f"\n\n{text}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _refuse_unsupported(param: str, message: str, what_to_do: str) -> ApiRefusal:
    return ApiRefusal(400, "unsupported", message, what_to_do, param=param)
