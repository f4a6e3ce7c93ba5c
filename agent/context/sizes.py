"""Estimates of tokens, thresholds of a full window, and a score of how hard a turn is; pure.

Providers' counts correct the estimates; attempts without a count are estimated. `agent.models` uses the score.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agent.fallbacks import Fallback
from agent.pictures import visible
from agent.ports import (
    Alive,
    CallStreamed,
    ChatModel,
    ModelEvent,
    ModelRequest,
    Recovering,
    SystemPrompt,
    TextDelta,
    ThinkingDelta,
    ToolSpec,
)
from agent.transcript import AssistantItem, Item, ModelResponded, NoteItem, ToolItem, Usage, UserItem

BYTES_PER_TOKEN = 3.5
"""Estimate for mixed English, Spanish and JSON."""


def estimate_tokens(items: Iterable[Item]) -> int:
    """Estimate the tokens of these items."""
    return int(sum(map(item_bytes, items)) / BYTES_PER_TOKEN)


def estimate_text(text: str) -> int:
    """Estimate the tokens of a text."""
    return int(_bytes_of(text) / BYTES_PER_TOKEN)


class RequestSizes:
    """Estimates of whole requests; tools, which do not change, are measured once."""

    def __init__(self) -> None:
        self._tools: Sequence[ToolSpec] = ()
        self._tools_tokens = 0

    def estimate(self, request: ModelRequest) -> int:
        """Estimate the tokens of a request: instructions, tools, conversation."""
        return self.estimate_fixed(request.system, request.tools) + estimate_tokens(request.items)

    def estimate_fixed(self, system: SystemPrompt, tools: Sequence[ToolSpec]) -> int:
        """Estimate the tokens of a request without its conversation."""
        if tools is not self._tools:
            chars = sum(len(spec.name) + len(spec.description) + len(str(spec.schema)) for spec in tools)
            self._tools, self._tools_tokens = tools, int(chars / BYTES_PER_TOKEN)
        return estimate_text(str(system)) + self._tools_tokens


def item_bytes(item: Item) -> int:
    """Estimate the bytes of an item in a request; a picture counts as the text that costs the same."""
    match item:
        case UserItem():
            words = _bytes_of(item.text) + _bytes_of(item.data) + _bytes_of(item.recalled) + 16
            if not item.pictures:
                return words
            return words + int(BYTES_PER_TOKEN * sum(picture.tokens for picture in visible(item.pictures)))
        case NoteItem():
            return _bytes_of(item.text) + 16
        case ToolItem():
            return _bytes_of(item.content) + 32
        case AssistantItem():
            words = _bytes_of(item.text) + 16
            return words + sum(len(call.name) + _bytes_of(call.arguments) + 32 for call in item.tool_calls)


def chars_of(event: ModelEvent) -> int | None:
    """Return the characters that this event adds to a response; 0 for a keep-alive, None if it adds none."""
    match event:
        case TextDelta() | ThinkingDelta():
            return len(event.text)
        case CallStreamed():
            return len(event.call.name) + len(event.call.arguments)
        case Alive():
            return 0
        case _:
            return None


def said_chars(response: ModelResponded) -> int:
    """Return the number of characters of a whole response."""
    return len(response.text) + sum(len(call.name) + len(call.arguments) for call in response.tool_calls)


def _bytes_of(text: str) -> int:
    """Return the size in UTF-8 bytes; ASCII, the usual case, needs no encoding."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


@dataclass(frozen=True, slots=True)
class WindowRoom:
    """The thresholds of a window: when to summarise, when to refuse.

    The figures in tokens are for large windows; in a small one each is at most a share of it.
    """

    window_tokens: int  # the model's context window, output included

    @property
    def soft_tokens(self) -> int:
        """Return the size above which a call is preceded by a summary: 13,000 below the window, or a quarter of it."""
        return self.window_tokens - min(13_000, self.window_tokens // 4)

    @property
    def hard_tokens(self) -> int:
        """Return the maximum size of a request: 3,000 below the window, or an eighth of it."""
        return self.window_tokens - min(3_000, self.window_tokens // 8)

    @property
    def turn_tokens(self) -> int:
        """Return the size above which the older part is summarised within and after a turn: 75 % of the window."""
        return self.window_tokens * 3 // 4

    @property
    def notes_tokens(self) -> int:
        """Return the maximum tokens of a summary: 50,000 or a fifth of the window."""
        return min(50_000, self.window_tokens // 5)

    def output_tokens(self, cap: int, asked_tokens: int) -> int:
        """Return the output cap beside a request of this size, so that both fit the window."""
        return min(cap, self.window_tokens - min(asked_tokens, self.hard_tokens))


MOST_FACTOR = 4.0


class Calibration:
    """The ratio of each model's counts to our estimates, learnt from its responses and shared by all turns."""

    def __init__(self) -> None:
        self.sizes = RequestSizes()
        self._factors: dict[str, float] = {}  # by model

    def factor(self, model: str) -> float:
        """Return the correction factor, at least 1: a provider that leaves out cached tokens counts too few."""
        return self._factors.get(model, 1.0)

    def note(self, model: str, estimated_tokens: int, counted_tokens: int | None) -> None:
        """Learn from a request that we estimated at `estimated_tokens`; None if the provider did not count it."""
        if counted_tokens and estimated_tokens > 0:
            ratio = counted_tokens / estimated_tokens
            self._factors[model] = min(MOST_FACTOR, max(1.0, (self.factor(model) + ratio) / 2))

    def note_overflow(self, model: str, estimated_tokens: int, room: WindowRoom) -> None:
        """Raise the estimate for this model after it refused a request as too long."""
        if estimated_tokens > 0:
            self._factors[model] = min(MOST_FACTOR, max(self.factor(model), room.window_tokens / estimated_tokens))

    def tokens(self, model: str, estimated_tokens: int) -> int:
        """Return the corrected estimate."""
        return int(estimated_tokens * self.factor(model))


TryCost = tuple[str, Usage]
"""(model, usage) of one attempt."""


class Tries:
    """The attempts of one model call after the other, and their estimated cost."""

    def __init__(self, model: ChatModel) -> None:
        """`model` is the asked model; a chain has the facts of its first link."""
        self._model = model
        self.asked = model.name  # model of the current attempt; a chain may change it
        self._request: ModelRequest | None = None
        self._chars: int | None = None  # streamed in the current attempt; None: the response has not begun

    def begin(self, request: ModelRequest) -> None:
        """Record the request that is sent now."""
        self._request, self._chars, self.asked = request, None, self._model.name

    def hear(self, event: ModelEvent) -> TryCost | None:
        """Take in an event of the model; return the cost of the previous attempt if a new one begins."""
        if (chars := chars_of(event)) is not None:
            self._chars = (self._chars or 0) + chars
        elif isinstance(event, Recovering):
            cost = self.abandon()
            self.asked = event.detail if event.fallback is Fallback.NEXT_MODEL else self.asked
            return cost
        return None

    def abandon(self) -> TryCost | None:
        """Drop the current attempt and return its cost, or None if its response had not begun."""
        chars, self._chars = self._chars, None
        return None if chars is None else self.estimate(chars)

    def estimate(self, said_chars: int, model: str = "") -> TryCost | None:
        """Estimate the cost of a response of this length; `model` "" is the model of the current attempt."""
        if self._request is None:
            return None
        used = Usage(RequestSizes().estimate(self._request), int(said_chars / BYTES_PER_TOKEN))
        by = model or self.asked
        prices = self._model.facts.prices if by == self._model.name else None
        return by, replace(used, cost_microusd=None if prices is None else prices.cost_microusd(used))


HEAVY_FROM = 0.35
"""Score from which a turn goes to the main model."""

RECENT_ITEMS = 10
"""Newest items of the conversation in which recent tool results are counted."""

_CODE = re.compile(r"```|[;{}][ \t]*$|\w\(\w*\)|</\w+>|=>", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TurnFeatures:
    """The features of the score."""

    attached: bool  # the message has a file, a picture, a quote or group context
    code: bool  # the text looks like a program
    tokens: int  # of the text, estimated
    recent_tools: int  # results among the newest items of the conversation
    depth: int  # messages in the conversation before it


def features_of(history: Sequence[Item], asked: Sequence[UserItem]) -> TurnFeatures:
    """Return the features of a turn that begins with these items after this history."""
    words, kinds = "\n".join(item.text for item in asked), [*map(type, history)]
    return TurnFeatures(
        attached=any(item.data or item.pictures for item in asked),
        code=_CODE.search(words) is not None,
        tokens=estimate_text(words),
        recent_tools=kinds[-RECENT_ITEMS:].count(ToolItem),
        depth=kinds.count(UserItem) + kinds.count(AssistantItem),
    )


def score(turn: TurnFeatures) -> float:
    """Return how hard the turn is, from 0, a greeting, to about 2."""
    points = (100 if turn.attached else 0) + (40 if turn.code else 0) + (10 if turn.depth > 10 else 0)
    points += 35 if turn.tokens > 200 else 15 if turn.tokens > 50 else 0
    points += 25 if turn.recent_tools > 3 else 10 if turn.recent_tools > 0 else 0
    return points / 100
