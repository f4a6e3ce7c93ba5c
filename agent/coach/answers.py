"""What a message is as the answer to a question of the coach: the rest of a log, or what is right instead. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.coach.acts import LACKING, Act, Task, task_of_heard
from agent.coach.amendments import add_amount, add_skill, amend, rename
from agent.coach.followups import read_fragment
from agent.coach.intents import Intent, read_request
from agent.coach.request_view import Exchange
from agent.coach.understanding.amounts import find_duration
from agent.coach.understanding.entries import Practised
from agent.coach.understanding.reading import Certainty


def answer_question(text: str, asked: Task, last: Exchange, names: Sequence[str], language: str) -> Task | None:
    """What the message makes of what was asked in the last exchange; None where it says something else.

    `names` are the person's skills.
    """
    answer = _Answer(text, asked, last, names, language)
    return answer.complete() or answer.amend()


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    asked: Task
    last: Exchange
    names: Sequence[str]
    language: str

    def complete(self) -> Task | None:
        """A log of which the rest was said before: what was asked for is the skill, or how long it was."""
        asked = self.asked
        if asked.act not in LACKING or len(asked.practised) != 1:
            return None
        (entry,) = asked.practised
        if asked.act is Act.ASK_WHAT:
            return self._complete_one(entry)
        if asked.act is Act.ASK_AMOUNT:
            heard = add_amount(self.text, entry)
        else:
            heard = add_skill(self.text, entry, self.names)
            if heard.certainty is Certainty.ASK_NEW and not self._is_name():
                return None
        return None if heard.certainty is Certainty.NOTHING else task_of_heard(heard, self.text)

    def _complete_one(self, entry: Practised) -> Task | None:
        """What was practised, or for how long: the other is asked for next."""
        timed = add_amount(self.text, entry)
        if timed.certainty is not Certainty.NOTHING:
            return Task(Act.ASK_SKILL, self.text, practised=timed.practised)
        named = add_skill(self.text, entry, self.names)
        if named.certainty is Certainty.NOTHING or find_duration(self.text) is not None:
            return None
        is_name = named.certainty is Certainty.LOG or self._is_name()
        return Task(Act.ASK_AMOUNT, self.text, practised=named.practised) if is_name else None

    def _is_name(self) -> bool:
        """Whether this would be a skill behind an amount, and is nothing else by itself: no "bye", no "delete it"."""
        entry = Practised(None, "", self.last.now.date())
        named = rename(self.text, entry, self.names, self.last.now, self.language)
        return named is not None and read_request(self.text).intent is Intent.UNKNOWN

    def amend(self) -> Task | None:
        """The practice that was asked about, as a message corrects it: it is asked about again, or logged."""
        amendment = amend(self.text, self.asked.practised, self.names, self.last.now, self.language)
        if amendment is None:
            return self._amend_loosely()
        asked = replace(self.asked, text=self.text, practised=amendment.practised)
        if amendment.is_sure:
            return replace(asked, act=Act.LOG, confirmed=True)
        return replace(asked, act=Act.ASK_NEW_SKILL if any(entry.is_new for entry in asked.practised) else asked.act)

    def _amend_loosely(self) -> Task | None:
        """The same, of words that only say what is right: it is asked about again."""
        asked = self.asked
        said = read_fragment(self.text, self.names, self.last.now, self.language) if len(asked.practised) == 1 else None
        if said is None or not said.is_right or said.is_same:
            return None
        entry = said.correct(asked.practised[0])
        if entry == asked.practised[0] or not (entry.minutes and entry.skill):
            return None
        act = Act.ASK_NEW_SKILL if entry.is_new else Act.ASK_LOG
        return replace(asked, act=act, text=self.text, practised=(entry,))
