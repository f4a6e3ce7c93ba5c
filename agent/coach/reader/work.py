"""One request to the reader: what the person said that is not answered yet, and what the tools gave back."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from agent.catalogue import DEFAULT, language_of
from agent.coach.changes import change_text, read_change
from agent.coach.reports import SkillsReport
from agent.coach.texts import detect, say
from agent.models.offline import RuleCall
from agent.ports import ModelRequest
from agent.tools.toolbox import names_offered
from agent.transcript import EDITED, SKIPPED, AssistantItem, Item, NoteItem, ToolItem, UserItem
from agent.wellformed import read_object

Report = TypeVar("Report", bound=BaseModel)
MOST_EARLIER = 5
"""Answered messages that a correction may be about, with those before it."""

_MENTION = re.compile(r"<@[^<>\s]{1,64}>|(?<!\S)@\w{1,64}")


class NeedsTools(Exception):
    """These calls have to come back before anything can be said."""

    def __init__(self, calls: Sequence[RuleCall]) -> None:
        super().__init__(", ".join(call.name for call in calls))
        self.calls = tuple(calls)


class CannotAnswer(Exception):
    """The answer is these words, because a tool is missing or refused."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tool."""

    call: RuleCall
    success: bool
    data: dict[str, object]


class Work:
    """The messages that wait for an answer, and the tool results about them so far."""

    def __init__(self, request: ModelRequest) -> None:
        items, context = request.items, request.context
        start = _first_open(items)
        said = [item for item in items[start:] if isinstance(item, UserItem) and item.own]
        self.messages = tuple(_own_words(item.text) for item in said)
        self.has_files = any(" attached" in item.data for item in said)
        self.has_pictures = any(item.pictures for item in said)
        self.is_first = not any(_ends(item) for item in items[:start])
        self.now = datetime.max.replace(tzinfo=UTC) if context is None else context.now
        answered = [item for item in items[:start] if isinstance(item, UserItem) and item.own]
        self.earlier = tuple((_own_words(item.text), self._day_of(item)) for item in answered[-MOST_EARLIER:])
        self.keeps_language = context is not None and context.keeps_language
        self.locale = DEFAULT if context is None else language_of(context.locale)
        self._results = _results(items[start:])
        changes = [at for at, each in enumerate(self._results) if read_change(each.data) is not None]
        self._fresh = self._results[changes[-1] + 1 :] if changes else list(self._results)
        self._tools = names_offered(request.tools)

    @property
    def today(self) -> date:
        """The person's date."""
        return self.now.date()

    def _day_of(self, item: UserItem) -> date:
        return self.today if item.at is None else datetime.fromisoformat(item.at).astimezone(self.now.tzinfo).date()

    def language(self, text: str) -> str:
        """Return the language of an answer: the person's if they chose one or nothing tells, else the message's."""
        return self.locale if self.keeps_language else detect(text.removeprefix(EDITED)) or self.locale

    def read(self, model: type[Report], tool: str, language: str, /, **arguments: JsonValue) -> Report:
        """Return the report of a tool that only reads, called after the last change: older numbers are stale.

        The skills are read once: a sentence is parsed with the names there were before it changed something.

        Raises:
            NeedsTools: it was not asked yet.
            CannotAnswer: the request does not offer it, or it failed.
        """
        call = RuleCall(tool, arguments)
        known = self._results if model is SkillsReport else self._fresh
        result = next((each for each in known if each.call == call), None) or self._ask(call, language)
        try:
            return model.model_validate(result.data)
        except ValidationError:
            raise CannotAnswer(say(language, "offline.no_tools")) from None

    def ask_all(self, tools: Sequence[str], language: str) -> None:
        """Ask tools without arguments at once.

        Raises:
            NeedsTools: one was not asked yet.
            CannotAnswer: the request does not offer one.
        """
        calls = [RuleCall(tool, {}) for tool in tools]
        lacking = [call for call in calls if all(each.call != call for each in self._results)]
        if not all(call.name in self._tools for call in lacking):
            raise CannotAnswer(say(language, "offline.no_tools"))
        if lacking:
            raise NeedsTools(lacking)

    def change(self, tool: str, language: str, /, **arguments: JsonValue) -> str:
        """Return the sentence about a change; each result counts for one message.

        Raises:
            NeedsTools: the change was not made yet.
            CannotAnswer: the request offers no such tool, or the call was refused.
        """
        call = RuleCall(tool, arguments)
        result = next((each for each in self._results if each.call == call), None) or self._ask(call, language)
        self._results.remove(result)
        change = read_change(result.data)
        if change is None:
            raise CannotAnswer(say(language, "offline.failed" if not result.success else "offline.no_tools"))
        if change["change"] == "refused":
            raise CannotAnswer(change_text(language, change, self.today))
        return change_text(language, change, self.today)

    def _ask(self, call: RuleCall, language: str) -> Result:
        if call.name not in self._tools:
            raise CannotAnswer(say(language, "offline.no_tools"))
        raise NeedsTools([call])


def _first_open(items: Sequence[Item]) -> int:
    """Return the index of the first unanswered item: behind the last answer, or behind the last turn."""
    last = max((at for at, item in enumerate(items) if isinstance(item, UserItem)), default=0)
    for at in range(last - 1, -1, -1):
        item = items[at]
        if _ends(item):
            return at + 1
    return 0


def _ends(item: Item) -> bool:
    return (isinstance(item, AssistantItem) and not item.tool_calls) or (isinstance(item, NoteItem) and item.ends_turn)


def _own_words(text: str) -> str:
    """Return the text without lines that quote an earlier message, and without names that are called."""
    lines = [line for line in text.split("\n") if not line.lstrip().startswith(">")]
    return _MENTION.sub("", "\n".join(lines))


def _results(items: Sequence[Item]) -> list[Result]:
    calls = {call.id: call for item in items if isinstance(item, AssistantItem) for call in item.tool_calls}
    found = []
    for item in items:
        if isinstance(item, ToolItem) and item.call_id in calls and SKIPPED not in item.content:
            call, content = calls[item.call_id], read_object(item.content) or {}
            data = content.get("data")
            asked = RuleCall(call.name, json.loads(call.arguments))
            found.append(Result(asked, bool(content.get("success")), data if isinstance(data, dict) else {}))
    return found
