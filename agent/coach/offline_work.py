"""One request being worked off by rules: what came back, taken in the order it was asked for. Pure."""

from datetime import date
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agent.coach.changes import change_text, read_change
from agent.coach.language import say
from agent.coach.request_view import RequestView, Returned
from agent.models.offline import RuleCall

Calls = tuple[RuleCall, ...]
Report = TypeVar("Report", bound=BaseModel)


class CannotTell(Exception):
    """A task ends here with these words."""


class Work:
    """One request being worked off: results are taken in the order their tasks asked for them."""

    def __init__(self, view: RequestView) -> None:
        self.view = view
        self._changes = [result for result in view.returned if not result.skipped]
        self._fresh_from = max((at + 1 for at, result in enumerate(view.returned) if result.is_change), default=0)

    def say(self, key: str, **values: object) -> str:
        """Words in the language that was heard."""
        return say(self.view.language, key, **values)

    @property
    def today(self) -> date:
        """The person's date; the last there is where the prompt does not say, so that nothing counts as future."""
        return self.view.today or date.max

    def change(self, call: RuleCall) -> Returned | Calls:
        """The result of this change, else the call that makes it."""
        taken = next((result for result in self._changes if result.name == call.name), None)
        if taken is None:
            return self.require_tools(call)
        self._changes.remove(taken)
        if not taken.success:
            raise CannotTell(self._refusal_words(taken))
        return taken

    def read(self, name: str, model: type[Report], *, old: bool = False) -> Report | None:
        """The newest result of a read, read back; `old` takes one from before the last change too."""
        since = 0 if old else self._fresh_from
        found = [result for result in self.view.returned[since:] if result.name == name and not result.skipped]
        if not found:
            return None
        if not found[-1].success:
            raise CannotTell(self._refusal_words(found[-1]))
        return self._as(model, found[-1])

    def reads(self, name: str, model: type[Report]) -> list[Report] | None:
        """All fresh results of one read that worked; None where none came back at all."""
        fresh = self.view.returned[self._fresh_from :]
        found = [result for result in fresh if result.name == name and not result.skipped]
        return [self._as(model, result) for result in found if result.success] if found else None

    def require_tools(self, *calls: RuleCall) -> Calls:
        """These calls, where the request offers the tools."""
        if not all(call.name in self.view.tools for call in calls):
            raise CannotTell(self.say("offline_no_tools"))
        return calls

    def _as(self, model: type[Report], returned: Returned) -> Report:
        try:
            return model.model_validate(returned.data)
        except ValidationError:  # a shortened or foreign result
            raise CannotTell(self.say("offline_no_tools")) from None

    def _refusal_words(self, returned: Returned) -> str:
        change = read_change(returned.data)
        if change is not None and change.refused is not None:
            return change_text(self.view.language, change, self.today)
        return self.say("offline_failed", error=returned.error or returned.name)
