"""Models of OpenAI's chat completions: requests and responses.

Source: platform.openai.com/docs/api-reference/chat (November 2026), and the models of the package `openai` 3.51.
Settings for a bare model (temperature, token limits) are accepted and ignored: the agent has its own.
"""

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from gateway.http.api.openai_conversation import NewMessage, digest_of, place
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import NAME, ApiModel
from gateway.http.api.turns import TokensUsed

MAX_MESSAGES = 2_000


class Lenient(BaseModel):
    """Base of a request from an OpenAI client; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)  # clients send many other fields


class CompletionPart(Lenient):
    """A part of a message; only text is supported."""

    type: str = Field(max_length=64)
    text: str | None = None


class CompletionMessage(Lenient):
    """One message of the client's conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | tuple[CompletionPart, ...] | None = None


class StreamOptions(Lenient):
    """Options of a stream."""

    include_usage: bool | None = None


class JsonSchema(Lenient):
    """A JSON schema for the answer."""

    schema_: dict[str, JsonValue] = Field(default_factory=dict, alias="schema")


class ResponseFormat(Lenient):
    """The requested format of the answer: text or one JSON object."""

    type: str = Field(max_length=64)
    json_schema: JsonSchema | None = None


class CompletionRequest(Lenient):
    """A request for a completion. Only its new message goes to the agent, which remembers the rest."""

    model: str = Field("", max_length=200, description="Any name; the gateway's agent answers.")
    messages: tuple[CompletionMessage, ...] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    user: str | None = Field(None, max_length=512, description="The user of your program who asks. Default: `main`.")
    n: int | None = Field(1, description="Must be 1.")
    tools: tuple[dict[str, object], ...] | None = Field(None, description="Must be empty: the agent has its own tools.")
    tool_choice: object = None
    functions: tuple[dict[str, object], ...] | None = Field(None, description="Must be empty, like tools.")


class CompletionUsage(ApiModel):
    """Tokens, 0 if they were not counted."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class AnsweredMessage(ApiModel):
    """The agent's answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class CompletionChoice(ApiModel):
    """The only choice of a completion."""

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
    """The new part of a message."""

    role: Literal["assistant"] | None = None
    content: str | None = None

    @model_serializer(mode="wrap")
    def _without_none(self, to_fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in to_fields(self).items() if value is not None}


class ChunkChoice(ApiModel):
    """The only choice of a chunk."""

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
    """A model to name in requests."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelsAnswer(ApiModel):
    """The list of models, with the agent as the only one."""

    object: Literal["list"] = "list"
    data: tuple[ModelCard, ...]


def words_to_say(request: CompletionRequest) -> NewMessage:
    """Return the person's new text: all user messages after the assistant's last one, and their place.

    Raises:
        ApiRefusal: there is no new text, or the request uses an unsupported feature.
    """
    if request.tools or request.functions:
        raise refuse_unsupported("tools", "the agent has its own tools", "Leave `tools` out.")
    if request.n not in {None, 1}:
        raise refuse_unsupported("n", "there is only one answer", "Leave `n` out.")
    return last_words(request.messages)


def last_words(messages: tuple[CompletionMessage, ...], earlier: str | None = None) -> NewMessage:
    """Return the person's new text, which follows the message with the id `earlier`.

    Raises:
        ApiRefusal: there is no new text, or it is not text.
    """
    said: list[str] = []
    for message in reversed(messages):
        if message.role == "assistant":
            break
        if message.role == "user":
            said.insert(0, _text_of(message))
    text = "\n\n".join(filter(None, said))
    if not text.strip():
        raise ApiRefusal(
            422,
            "empty_message",
            "the last message is not the user's",
            "End with the user's new message.",
            param="messages",
        )
    spoken = [message for message in messages if message.role in {"user", "assistant"}]
    return place(((message.role, _known_by(message)) for message in spoken), text, earlier)


def _known_by(message: CompletionMessage) -> str:
    """Return the text of a message without its other parts."""
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    return "\n".join(part.text or part.type for part in message.content)


def _text_of(message: CompletionMessage) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    others = sorted({part.type for part in message.content if part.type not in {"text", "input_text"}})
    if others:
        raise refuse_unsupported("messages", f"only text is supported, not {others[0]}", "Send text.")
    return "\n".join(part.text or "" for part in message.content)


def first_words(messages: tuple[CompletionMessage, ...]) -> str:
    """Return the first user text of the conversation."""
    return next((_known_by(message) for message in messages if message.role == "user"), "")


def user_named(user: str | None) -> str | None:
    """Turn a client's user into a valid name: unchanged if possible, else its digest."""
    if user is None or not user:
        return None
    return user if re.fullmatch(NAME, user) else f"u-{digest_of(user)[:32]}"


def to_usage(tokens: TokensUsed) -> CompletionUsage:
    """Convert token counts to OpenAI's sums."""
    given, written = tokens.input_tokens or 0, tokens.output_tokens or 0
    return CompletionUsage(prompt_tokens=given, completion_tokens=written, total_tokens=given + written)


def finish_of(reason: str | None) -> Literal["stop", "length"]:
    """Return OpenAI's finish reason."""
    return "length" if reason == "max_tokens" else "stop"


def refuse_unsupported(param: str, message: str, what_to_do: str) -> ApiRefusal:
    """Return the refusal of an unsupported feature."""
    return ApiRefusal(400, "unsupported", message, what_to_do, param=param)
