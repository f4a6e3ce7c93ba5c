"""OpenAI's chat completions as data: what its clients send, and what they read. Pure.

Source: platform.openai.com/docs/api-reference/chat (November 2026), and the models of the package `openai` 3.51. What a
client sets for a bare model (temperature, token limits) is taken and not obeyed: the agent has its own settings.
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
    """A request of an OpenAI client; fields that are not read here are dropped."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)  # clients send more than anybody can list


class CompletionPart(Lenient):
    """A part of a message; only text is read."""

    type: str = Field(max_length=64)
    text: str | None = None


class CompletionMessage(Lenient):
    """One message of the conversation as the client has it."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | tuple[CompletionPart, ...] | None = None


class StreamOptions(Lenient):
    """How a stream ends."""

    include_usage: bool | None = None


class JsonSchema(Lenient):
    """A schema that the answer is to fit."""

    schema_: dict[str, JsonValue] = Field(default_factory=dict, alias="schema")


class ResponseFormat(Lenient):
    """The form of the answer: text as the agent writes it, or one JSON object."""

    type: str = Field(max_length=64)
    json_schema: JsonSchema | None = None


class CompletionRequest(Lenient):
    """A request for a completion: what is new in it is said to the agent, which remembers the rest by itself."""

    model: str = Field("", max_length=200, description="Any name: the agent that answers is the gateway's.")
    messages: tuple[CompletionMessage, ...] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
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

    @model_serializer(mode="wrap")
    def _without_none(self, to_fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in to_fields(self).items() if value is not None}


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


def words_to_say(request: CompletionRequest) -> NewMessage:
    """Return what the person said last, every user message behind the last one of the assistant, and where it stands.

    Raises:
        ApiRefusal: there is none, or the request asks what the agent does not do.
    """
    if request.tools or request.functions:
        raise refuse_unsupported("tools", "the agent has its own tools", "Leave `tools` out.")
    if request.n not in {None, 1}:
        raise refuse_unsupported("n", "there is one answer", "Leave `n` out.")
    return last_words(request.messages)


def last_words(messages: tuple[CompletionMessage, ...], earlier: str | None = None) -> NewMessage:
    """Return what the person said last, behind the message of the id `earlier`.

    Raises:
        ApiRefusal: there is none, or it is no text.
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
            422, "empty_message", "no user message stands at the end", "Send what the person says last.",
            param="messages",
        )  # fmt: skip
    spoken = [message for message in messages if message.role in {"user", "assistant"}]
    return place(((message.role, _known_by(message)) for message in spoken), text, earlier)


def _known_by(message: CompletionMessage) -> str:
    """Return the text of a message, whatever else is in it."""
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    return "\n".join(part.text or part.type for part in message.content)


def _text_of(message: CompletionMessage) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    others = sorted({part.type for part in message.content if part.type not in {"text", "input_text"}})
    if others:
        raise refuse_unsupported("messages", f"only text is read here, not {others[0]}", "Send text.")
    return "\n".join(part.text or "" for part in message.content)


def first_words(messages: tuple[CompletionMessage, ...]) -> str:
    """Return what the conversation began with."""
    return next((_known_by(message) for message in messages if message.role == "user"), "")


def user_named(user: str | None) -> str | None:
    """A client's user as a name of ours: as it is where it can be, else by its digest."""
    if user is None or not user:
        return None
    return user if re.fullmatch(NAME, user) else f"u-{digest_of(user)[:32]}"


def to_usage(tokens: TokensUsed) -> CompletionUsage:
    """Tokens as OpenAI's clients add them up."""
    given, written = tokens.input_tokens or 0, tokens.output_tokens or 0
    return CompletionUsage(prompt_tokens=given, completion_tokens=written, total_tokens=given + written)


def finish_of(reason: str | None) -> Literal["stop", "length"]:
    """Why it ended."""
    return "length" if reason == "max_tokens" else "stop"


def refuse_unsupported(param: str, message: str, what_to_do: str) -> ApiRefusal:
    """Return the refusal of what the agent does not do."""
    return ApiRefusal(400, "unsupported", message, what_to_do, param=param)
