"""What the offline coach may do about a message, and what a yes to its question makes of that. Data."""

from dataclasses import dataclass
from enum import StrEnum

from agent.coach.intents import Intent
from agent.coach.understanding.entries import Practised
from agent.coach.understanding.lookups import Lookup
from agent.coach.understanding.reading import Certainty, Heard
from agent.coach.understanding.tables import Twist
from agent.coach.understanding.wishes import RemindWish, WishedSkill


class Act(StrEnum):
    """What is done about a message that tells of practice or changes something."""

    LOG = "log"
    ASK_LOG = "ask.log"
    ASK_NEW_SKILL = "ask.new_skill"
    ASK_NEAR_SKILL = "ask.near_skill"
    ASK_SKILL = "problem.which_skill"
    ASK_AMOUNT = "ask.amount"
    ASK_WHAT = "ask.what"
    CORRECT = "correct"
    SWAP = "swap"  # two entries, each with the other's time
    ASK_CORRECTION = "ask.correction"
    UNDO = "undo"
    ASK_UNDO = "ask.undo"
    CREATE = "create"
    ASK_CREATE = "ask.create"  # as the others that ask: the key of its question
    PLAN = "plan"
    DECLINED = "declined"
    NOT_SURE = "not_sure"
    NUMBER = "number"
    ENTRIES = "entries"
    ASK_GOAL = "ask.goal"
    ASK_SKILL_GOAL = "ask.skill_goal"
    GOAL = "goal"
    ASK_DELETE = "ask.delete"
    DELETE = "delete"
    ASK_EDIT = "ask.edit"
    EDIT = "edit"
    REMIND = "remind"
    MOVE_REMINDER = "move_reminder"
    REMINDERS = "reminders"
    CANCEL_REMINDERS = "cancel_reminders"
    EDIT_SKILL = "edit_skill"
    ASK_MERGE = "ask.merge"
    MERGE = "merge"
    TWISTED = "twisted"  # it tells of something else than practice that was done


CONFIRMED = {
    Act.ASK_LOG: Act.LOG,
    Act.ASK_NEW_SKILL: Act.LOG,
    Act.ASK_NEAR_SKILL: Act.LOG,
    Act.ASK_CORRECTION: Act.CORRECT,
    Act.ASK_UNDO: Act.UNDO,
    Act.ASK_CREATE: Act.CREATE,
    Act.ASK_GOAL: Act.GOAL,
    Act.ASK_SKILL_GOAL: Act.GOAL,
    Act.ASK_DELETE: Act.DELETE,
    Act.ASK_EDIT: Act.EDIT,
    Act.ASK_MERGE: Act.MERGE,
}
"""What a yes makes of a question."""

OF_CERTAINTY = {
    Certainty.LOG: Act.LOG,
    Certainty.ASK: Act.ASK_LOG,
    Certainty.ASK_NEW: Act.ASK_NEW_SKILL,
    Certainty.ASK_NEAR: Act.ASK_NEAR_SKILL,
    Certainty.ASK_SKILL: Act.ASK_SKILL,
    Certainty.ASK_AMOUNT: Act.ASK_AMOUNT,
}

LACKING = frozenset({Act.ASK_SKILL, Act.ASK_AMOUNT, Act.ASK_WHAT})
"""What asks for the rest of what was said."""

LACKED = ("problem.no_skill", "problem.which_skill", "ask.amount", "ask.what")
"""The texts that ask for it."""


@dataclass(frozen=True, slots=True)
class Task:
    """One message, and what a correction said later makes of it."""

    act: Act | Intent
    text: str
    practised: tuple[Practised, ...] = ()  # what it tells of
    notes: str = ""
    twist: Twist | None = None  # what it tells of instead
    meant: Practised | None = None  # what is wished for, or still to come, instead
    lookup: Lookup | None = None  # what is wanted of what is logged
    reminder: RemindWish | None = None
    moved: RemindWish | None = None  # the reminder that was set, and is to come at another time
    wished: WishedSkill | None = None  # what is to be done to a skill
    corrected: str = ""  # what was said later about it
    session_id: str | None = None  # what a correction is about; None: the last one
    name: str = ""
    confirmed: bool = False  # the person said yes: a skill may be new

    @property
    def meant_minutes(self) -> int:
        """Of what is still to come; 0 where none is said."""
        return (None if self.meant is None else self.meant.minutes) or 0

    @property
    def logs(self) -> int:
        """How many entries it writes."""
        return len(self.practised) if self.act is Act.LOG else 0


def task_of_heard(heard: Heard, text: str) -> Task:
    """What is done about practice that a message tells of."""
    return Task(OF_CERTAINTY[heard.certainty], text, practised=heard.practised, notes=heard.notes)
