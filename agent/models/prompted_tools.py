"""Tools for a model without tool calls: the instructions describe them, and calls are parsed from its text.

Wraps any `ChatModel`. The requested form is the one on which most open models were trained; other common forms are
parsed too, and text that calls no known tool stays text.
A model that takes tools may still write a call as JSON text, which no person sees. It runs only if it is the whole
response and the model made no native call before. A call that the person or a tool has written never runs.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import structlog

from agent.models.failures import refuses_tools
from agent.models.openai_format import readable_arguments
from agent.ports import (
    ALIVE,
    CallStreamed,
    ChatModel,
    ModelEvent,
    ModelFacts,
    ModelFailure,
    ModelRequest,
    OnModelEvent,
    SystemPrompt,
    TextDelta,
    TextDiscarded,
    ToolSpec,
)
from agent.transcript import AssistantItem, Item, ModelResponded, NoteItem, StopReason, ToolCall, ToolItem, UserItem

log = structlog.get_logger()

MAX_CALLS = 200
"""Maximum calls parsed from one response."""

_HEAD = """# Tools

You can call these tools. To call one, write nothing but a block like this, with the arguments as one JSON object:

<tool_call>
{"name": "tool_name", "arguments": {"key": "value"}}
</tool_call>

For several calls write several blocks. Then stop: what they gave comes in the next message. Without a block, what you
write is your answer to the person."""

OPEN, CLOSE = "<tool_call>", "</tool_call>"

_START = re.compile(
    r"<tool_call>|(?:```[a-z_]*\s*)?(?:\[\s*)?(?P<json>\{)\s*"
    r'"(?:name|tool|tool_name|tool_calls|function|type|id|arguments|parameters|args|input)"\s*:'
)
"""The beginning of a call, or of an answer that looks like one."""

_MAY_START = re.compile(r'(?:```[a-z_]*\s*|`{1,2})?(?:\[\s*)?(?:\{\s*(?:"[a-z_]*(?:"\s*)?)?)?\Z')
"""The end of a text that may become such a beginning with the next characters."""

MAY_START_CHARS = 64
"""Maximum length of such an end."""

NEAR_CHARS = 40
"""Maximum characters between the name and the arguments of a quoted call."""

PROMPTED = "prompted-"
"""Prefix of the ids of calls that were parsed from text."""

TOOL_USE_FAILED = "tool_use_failed"
"""Groq's error code for a badly written call, with status 400 (console.groq.com/docs/errors, read 2026-11)."""

_FENCE = re.compile(r"```[a-z_]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_NAME = re.compile(r'"(?:name|tool|tool_name)"\s*:\s*"([^"\\]{1,200})"')
_DECODER = json.JSONDecoder()
_TRAILING_COMMA = re.compile(r",(?=\s{0,100}[}\]])")


def describe_tools(tools: Sequence[ToolSpec]) -> str:
    """Return the tools as instructions, byte for byte the same for the same tools."""
    specs = (
        json.dumps({"name": spec.name, "description": spec.description, "parameters": spec.schema}, ensure_ascii=False)
        for spec in tools
    )
    return "\n\n".join((_HEAD, *specs))


@dataclass(frozen=True, slots=True)
class ReadText:
    """The text and the calls of a response."""

    text: str  # without the calls
    calls: tuple[tuple[str, str], ...] = ()  # (name, arguments as JSON or as written)
    is_mixed: bool = False  # unmarked calls stand within text: they are not run


def read_calls(text: str, names: Iterable[str]) -> ReadText:
    """Parse the calls in a text. Marked calls always count, unmarked JSON only if it names a known tool."""
    known = frozenset(names)
    if OPEN in text:
        first = text.index(OPEN)
        pieces = text[first:].split(OPEN)[1 : MAX_CALLS + 1]
        marked = [call for piece in pieces for call in _read_marked(piece.partition(CLOSE)[0])]
        return ReadText(text[:first].strip(), tuple(marked))
    whole = tuple(_read_unmarked(_without_fence(text), known))
    if whole:
        return ReadText("", whole[:MAX_CALLS])
    for match in islice(_START.finditer(text), MAX_CALLS):
        if found := tuple(_read_begun(text, match.start("json"), known)):
            return ReadText(text[: match.start()].strip(), found[:MAX_CALLS], is_mixed=True)
    return ReadText(text)


def _read_begun(text: str, start: int, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the calls in the JSON that begins at this index, even if it is cut off."""
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        name = _NAME.search(text, start, start + 300)
        value = {"name": name[1]} if name else None
    return (call for call in _calls_in(value) if call[0] in known)


def _without_fence(text: str) -> str:
    """Return the content of a code fence that is the whole response; else the text."""
    fence = _FENCE.fullmatch(text.strip())
    return fence[1] if fence else text


def _is_quoted(calls: Iterable[tuple[str, str]], items: Iterable[Item]) -> bool:
    """Return True if the person, a tool or the harness has written one of these calls: the model only repeats it."""
    given = [_squeeze(words) for item in items if not isinstance(item, AssistantItem) for words in _words_of(item)]
    return any(_is_written(call, words) for call in calls for words in given)


def _words_of(item: UserItem | ToolItem | NoteItem) -> tuple[str, ...]:
    match item:
        case UserItem():
            return item.text, item.data, item.recalled
        case ToolItem():
            return (item.content,)
        case NoteItem():
            return (item.text,)


def _is_written(call: tuple[str, str], words: str) -> bool:
    name, arguments = f'"{call[0]}"', _squeeze(call[1])
    arguments = arguments if arguments.strip("{}") else "}"
    at, near = words.find(arguments), len(name) + NEAR_CHARS
    while at >= 0:
        end = at + len(arguments)
        if name in words[max(0, at - near) : at] or (arguments != "}" and name in words[end : end + near]):
            return True
        at = words.find(arguments, end)
    return False


def _squeeze(text: str) -> str:
    """Return a text without white space and backslashes."""
    return "".join(text.replace("\\", "").split())


def _has_native_call(items: Iterable[Item]) -> bool:
    calls = (call for item in items if isinstance(item, AssistantItem) for call in item.tool_calls)
    return any(not call.id.startswith(PROMPTED) for call in calls)


def _read_marked(piece: str) -> Iterator[tuple[str, str]]:
    """Yield the calls between the marks; an unreadable one counts as a call, so that the model is told."""
    found = list(_calls_in(_loads(piece)))
    if found:
        yield from found
    elif piece.strip():
        name = _NAME.search(piece)
        yield (name[1] if name else "", piece.strip())


def _read_unmarked(piece: str, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    return (call for call in _calls_in(_loads(piece)) if call[0] in known)


def _loads(piece: str) -> object:
    for written in (piece, _TRAILING_COMMA.sub("", piece)):
        try:
            return json.loads(written)
        except (ValueError, RecursionError):
            continue
    return None


def _calls_in(value: object) -> Iterator[tuple[str, str]]:
    """Yield the calls in the forms that models write: alone, in a list, under `function` or `tool_calls`."""
    if isinstance(value, list):
        for inner in value[:MAX_CALLS]:
            if not isinstance(inner, list):
                yield from _calls_in(inner)
    elif isinstance(value, dict):
        if isinstance(inner := value.get("tool_calls") or value.get("function"), dict | list):
            yield from _calls_in(inner)
            return
        name = value.get("name") or value.get("tool") or value.get("tool_name") or value.get("function")
        if isinstance(name, str):
            yield (name, _arguments_of(value))


def _arguments_of(call: dict[str, object]) -> str:
    for key in ("arguments", "parameters", "args", "input"):
        if key in call:
            given = call[key]
            return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return "{}"


class PromptedTools:
    """A model with prompted tools, always or only after its server has refused native ones."""

    def __init__(self, model: ChatModel, *, unless_taken: bool = False) -> None:
        """If `unless_taken`, a model that is believed to take tools gets them natively."""
        self.name = model.name
        self._model = model
        self._prompts = not unless_taken
        self._calls_natively = False

    @property
    def facts(self) -> ModelFacts:
        """Return the model's facts, without tools once it has refused them."""
        facts = self._model.facts
        return replace(facts, takes_tools=False) if self._prompts and facts.takes_tools else facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return the model's response with its calls parsed; text that may be a call is held back until it is known to
        be none.

        Raises:
            ModelFailure: the model failed.
        """
        if not self._prompts and self._model.facts.takes_tools:
            try:
                return await self._respond_natively(request, on_event)
            except ModelFailure as problem:
                if not (request.tools and refuses_tools(problem)):
                    raise
                log.warning("model_takes_no_tools", model=self.name, error=str(problem))
                self._prompts = True
        return await self._respond_prompted(request, on_event)

    async def _respond_natively(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        if not request.tools:
            return await self._model.respond(request, on_event)
        screen = _Screen(on_event)
        try:
            response = await self._model.respond(request, screen)
        except ModelFailure as problem:
            if TOOL_USE_FAILED not in problem.message:
                raise
            log.info("model_call_badly_written", model=self.name)
            on_event(TextDiscarded())
            screen = _Screen(on_event)
            response = await self._model.respond(request, screen)
        self._calls_natively = self._calls_natively or bool(response.tool_calls)
        if response.tool_calls:
            screen.release()
            return response
        return self._read(request, response, screen, on_event)

    async def _respond_prompted(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        plain = replace(request, items=[_to_text(item) for item in request.items], tools=())
        if not request.tools:
            return await self._model.respond(plain, on_event)
        static = "\n\n".join(part for part in (request.system.static, describe_tools(request.tools)) if part)
        plain = replace(plain, system=SystemPrompt(static, request.system.dynamic))
        screen = _Screen(on_event)
        return self._read(request, await self._model.respond(plain, screen), screen, on_event)

    def _read(
        self, request: ModelRequest, response: ModelResponded, screen: "_Screen", on_event: OnModelEvent
    ) -> ModelResponded:
        """Parse the calls in a response's text, and drop those that may not run."""
        read = read_calls(response.text, (spec.name for spec in request.tools))
        is_quoted = _is_quoted(read.calls, request.items)
        if not read.calls or (read.is_mixed and is_quoted):
            screen.release()
            return response
        marked = OPEN in response.text
        if not self._prompts and marked and read.text:  # text about a call
            screen.release()
            return response
        native = not self._prompts and (self._calls_natively or _has_native_call(request.items))
        if native or is_quoted or read.is_mixed:
            log.warning("text_call_dropped", model=self.name, tools=[name for name, _ in read.calls])
            return replace(response, text=read.text)
        calls = tuple(
            ToolCall(f"{PROMPTED}{len(request.items)}-{index}", name, arguments)
            for index, (name, arguments) in enumerate(read.calls)
        )
        if response.stop not in {StopReason.LENGTH, StopReason.REFUSED}:
            for index, call in enumerate(calls):
                on_event(CallStreamed(index, call))
            response = replace(response, stop=StopReason.TOOLS)
        return replace(response, text=read.text, tool_calls=calls)

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()


def _to_text(item: Item) -> Item:
    """Convert calls to the requested text form and results to notes, the only forms that this model knows."""
    match item:
        case ToolItem():
            return NoteItem(f"the tool {item.name} gave: {item.content}")
        case AssistantItem() if item.tool_calls:
            calls = map(_to_block, item.tool_calls)
            return AssistantItem("\n".join(part for part in (item.text, *calls) if part), (), item.thinking)
        case _:
            return item


def _to_block(call: ToolCall) -> str:
    arguments = readable_arguments(call.arguments)
    return f'{OPEN}\n{{"name": {json.dumps(call.name)}, "arguments": {arguments}}}\n{CLOSE}'


class _Screen:
    """A filter that passes text on up to where a call may begin, and holds the rest back."""

    def __init__(self, on_event: OnModelEvent) -> None:
        self._on_event = on_event
        self._held: list[str] = []
        self._holds = False

    def __call__(self, event: ModelEvent) -> None:
        if not isinstance(event, TextDelta):
            self._on_event(event)
            return
        if self._holds:
            self._held.append(event.text)
            self._on_event(ALIVE)
            return
        text = "".join((*self._held, event.text))
        sure = self._sure_chars(text)
        self._held = [text[sure:]] if text[sure:] else []
        self._on_event(TextDelta(text[:sure]) if sure else ALIVE)

    def _sure_chars(self, text: str) -> int:
        """Return the number of leading characters that are certainly not part of a call."""
        if found := _START.search(text):
            self._holds = True
            return found.start()
        mark = next((n for n in range(len(OPEN) - 1, 0, -1) if OPEN.startswith(text[-n:])), 0)
        may_start = _MAY_START.search(text, max(0, len(text) - MAY_START_CHARS))
        return min(len(text) - mark, len(text) if may_start is None else may_start.start())

    def release(self) -> None:
        """Pass on the text that was held back: it has no call."""
        if self._held:
            self._on_event(TextDelta("".join(self._held)))
            self._held = []
