"""`/start guitar` and `/done`: a clock while somebody practises; `/forget`."""

from functools import partial

from agent.coach.durations import find_duration
from agent.coach.entry_words import take_skill
from agent.coach.practice import PracticeReader
from agent.coach.texts import COACH_TEXTS, say
from agent.coach.timer_changes import ForgetPractice, StartTimer, StopTimer
from agent.language import escape, language_of
from agent.wellformed import clean
from channels.base import CommandOption
from gateway.coach.said_changes import change_words
from gateway.commands.base import Command, ForgetPerson, Invocation, Reply, SessionAction
from gateway.store.erasure import Extent

OFF = frozenset(("off", "cancel", "no", "cancelar", "nada"))
PRACTICE, TALK = "practice", Extent.TALK.value
_NAMES = {
    PRACTICE: "practice práctica practica entries anotaciones",
    TALK: "talk charla conversation conversación conversacion messages mensajes",
    Extent.EVERYTHING.value: "everything todo all",
}
_CHOICES = {word: chosen for chosen, words in _NAMES.items() for word in words.split()}
MAX_COUNTED = 1_000_000
SURELY = frozenset(("yes", "sí", "si"))
MAX_CHARS = 1_000


def timer_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """The commands; `/start` without a skill greets, as every agent's does."""
    skill, notes = CommandOption("skill", "menu.start.skill"), CommandOption("notes", "menu.done.notes")
    return (
        Command("start", "menu.start_timer", partial(_start, reader), options=(skill,)),
        Command("done", "menu.done", _stop, options=(notes,)),
        Command(
            "forget", "menu.forget", partial(_forget, reader), options=(CommandOption("what", "menu.forget.what"),)
        ),
    )


async def _start(reader: PracticeReader, asked: Invocation) -> Reply:
    """Start the clock for a skill that they have; else say who this is, and what the clock needs."""
    principal, language = asked.principal, language_of(asked.principal.locale)
    wanted = clean(asked.arguments[:MAX_CHARS])
    found = take_skill(wanted, await reader.skills(principal)) if wanted else None
    if found is not None and not found[1]:
        return Reply(partial(change_words, asked), changes=(StartTimer(found[0].name),))
    name = escape(clean(principal.display_name)[:64])
    greeted = say(language, "commands.start", name=f", {name}" if name else "", timezone=escape(principal.timezone))
    return Reply(f"{greeted}\n\n{say(language, 'timer.how')}")


async def _stop(asked: Invocation) -> Reply:
    """Stop the clock and log; a time that is said counts instead of what it counted, the rest are notes."""
    said = clean(asked.arguments[:MAX_CHARS])
    if said.casefold() in OFF:
        return Reply(partial(change_words, asked), changes=(StopTimer(discards=True),))
    duration = find_duration(said)
    minutes = None if duration is None else duration.minutes
    notes = said if duration is None else f"{said[: duration.start]} {said[duration.end :]}".strip(" ,:")
    if minutes == 0:
        return Reply(say(language_of(asked.principal.locale), "problem.zero"))
    return Reply(partial(change_words, asked), changes=(StopTimer(minutes, notes),))


async def _forget(reader: PracticeReader, asked: Invocation) -> Reply:
    """Say what can be forgotten; delete what is chosen, after it was said twice; the conversation begins anew."""
    language, words = language_of(asked.principal.locale), asked.arguments.casefold().split()
    chosen = _CHOICES.get(words[0]) if words else None
    if chosen is None or len(words) > 2:
        return Reply(say(language, "forget.how"))
    if len(words) < 2 or words[1] not in SURELY:
        wish = None if chosen == PRACTICE else ForgetPerson(Extent(chosen), sure=False)
        return Reply(say(language, f"forget.sure_{chosen}"), session=wish)
    entries = len(await reader.sessions(asked.principal, limit=MAX_COUNTED)) if chosen != TALK else 0
    said = COACH_TEXTS.plural(language, "forget.done", entries) if chosen != TALK else ""
    more = "" if chosen == PRACTICE else say(language, f"forget.done_{chosen}")
    changes = () if chosen == TALK else (ForgetPractice(),)
    does = SessionAction.NEW if chosen == PRACTICE else ForgetPerson(Extent(chosen))
    return Reply(" ".join(part for part in (said, more) if part), changes=changes, session=does)
