"""A transcript as the rules see it: what the person said that is not answered yet, and which calls came back. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TypeGuard

from agent.coach.texts import detect, in_any_language
from agent.language import DEFAULT, language_of
from agent.ports import ModelRequest
from agent.tools.toolbox import names_offered
from agent.transcript import SKIPPED, AssistantItem, Item, NoteItem, ToolItem, UserItem
from agent.wellformed import read_object

CHANGES = frozenset({"log_practice", "edit_session", "undo_last_log", "create_skill", "delete_session"})
"""Calls after which what was read before is old."""

LATELY_SAID = 6
"""Messages back whose language still counts, where the last ones could be in either."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What came back of a call."""

    name: str
    success: bool
    data: Mapping[str, object]  # {} where the result is no object
    error: str
    skipped: bool  # steering overtook it: it did not run

    @property
    def is_change(self) -> bool:
        """Whether it changed what earlier reads say."""
        return self.name in CHANGES and self.success


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the person said, and what it was answered."""

    said: str
    answer: str
    now: datetime  # when it was said, on the person's own clock
    before: tuple[str, ...] = ()  # what they had said just before, oldest first, and what is answered too


@dataclass(frozen=True, slots=True)
class RequestView:
    """One request, understood as far as rules can."""

    pending: tuple[str, ...]  # the person's messages since the last answer, oldest first; at least one
    earlier: tuple["Exchange", ...]  # the person's own answered messages before those, oldest first
    returned: tuple[Returned, ...]  # calls since the last answer, in order
    language: str
    now: datetime  # the person's own; the last there is where nobody says whose, so that nothing counts as future
    tools: frozenset[str]

    @property
    def today(self) -> date:
        """The person's date."""
        return self.now.date()


def listen(request: ModelRequest) -> RequestView:
    """The request as the rules see it."""
    items = tuple(request.items)
    start = _first_pending(items)
    pending = tuple(_without_quotes(item.text) for item in items[start:] if _is_own(item)) or ("",)
    context = request.context
    now = datetime.max.replace(tzinfo=UTC) if context is None else context.now
    earlier = _exchanges(items[:start], now)
    return RequestView(
        pending=pending,
        earlier=earlier,
        returned=_results_of(items[start:]),
        language=_language(pending, earlier, DEFAULT if context is None else language_of(context.locale)),
        now=now,
        tools=names_offered(request.tools),
    )


def has_pictures_alone(request: ModelRequest, view: RequestView) -> bool:
    """Whether what is not answered is a picture, and not a word."""
    asked = next((item for item in reversed(request.items) if _is_own(item)), None)
    return asked is not None and bool(asked.pictures) and not any(text.strip() for text in view.pending)


def _exchanges(items: Sequence[Item], now: datetime) -> tuple[Exchange, ...]:
    """What the person said and was answered; what others in a group said and were answered is left out."""
    found: list[Exchange] = []
    said: list[str] = []
    said_at, to_own = now, True
    for item in items:
        if isinstance(item, UserItem):
            to_own = item.own
            if item.own:
                said.append(_without_quotes(item.text))
                said_at = _instant(item.at, now)
        elif isinstance(item, AssistantItem) and not item.tool_calls and to_own:
            *before, last = said or [""]
            found.append(Exchange(last, item.text, said_at, tuple(before)))
            said = []
    return tuple(found)


def _instant(at: str | None, now: datetime) -> datetime:
    """When something was said, on the same clock as now; now where nobody wrote it down."""
    try:
        return now if at is None else datetime.fromisoformat(at).astimezone(now.tzinfo)
    except (ValueError, OverflowError):
        return now


def _is_own(item: Item) -> TypeGuard[UserItem]:
    """Whether the person the turn acts for said it; what others said is nobody's task here."""
    return isinstance(item, UserItem) and item.own


def _without_quotes(text: str) -> str:
    """Without the lines that chats show as a quotation: they were said before, mostly by somebody else."""
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(">")) if ">" in text else text


def _first_pending(items: Sequence[Item]) -> int:
    """Where what is not answered begins: behind the last answer, a response without calls, or the end of a turn."""
    last = max((at for at, item in enumerate(items) if isinstance(item, UserItem)), default=0)
    for at in range(last - 1, -1, -1):
        item = items[at]
        if _ends_turn(item):
            return at + 1
    return 0


def _ends_turn(item: Item) -> bool:
    """Whether what stands before it needs no answer any more: it has one, or the person was told that it gets none."""
    return (isinstance(item, AssistantItem) and not item.tool_calls) or (isinstance(item, NoteItem) and item.ends_turn)


def _language(pending: Sequence[str], earlier: Sequence[Exchange], persons: str) -> str:
    """That of the newest words which surely tell one; else what the last ones hint at, else the person's."""
    said = [*(exchange.said for exchange in earlier[-LATELY_SAID:]), *pending]
    sure = next((told for text in reversed(said) if (told := detect(text, surely=True)) is not None), None)
    return sure or next((told for text in reversed(pending) if (told := detect(text)) is not None), persons)


def says(answer: str, keys: Iterable[str]) -> bool:
    """Whether an answer says one of these texts, in any language: known by what stands before its first field."""
    return any(opening in answer for key in keys for opening in in_any_language(key))


def asked_last(earlier: Sequence[Exchange], keys: Iterable[str]) -> bool:
    """Whether the last answer says one of these texts."""
    return bool(earlier) and says(earlier[-1].answer, keys)


def _results_of(items: Sequence[Item]) -> tuple[Returned, ...]:
    return tuple(_read(item) for item in items if isinstance(item, ToolItem))


def _read(item: ToolItem) -> Returned:
    content = read_object(item.content) or {}
    data = content.get("data")
    data = data if isinstance(data, dict) else {}
    error = str(content.get("error") or data.get("message") or "")
    success = bool(content.get("success")) and not data.get("refused")
    return Returned(item.name, success, data, error, SKIPPED in item.content)
