"""The command `/checkins`, and the sentence that a due check-in says."""

from datetime import date
from functools import partial

from agent.calendar import today_of
from agent.catalogue import escape, language_of
from agent.coach.check_ins import beginning_of_week, gap_text, is_unusual
from agent.coach.practice import PracticeReader
from agent.coach.texts import say
from agent.ports import LocalEffect
from channels.base import CommandOption
from gateway.coach.changes import change_practice
from gateway.coach.check_ins import NAME, CheckIn, choice_of, choose
from gateway.commands.base import Command, Invocation, Reply, Write

KINDS = {
    **dict.fromkeys(("plan", "plans", "planes", "week", "monday", "semana", "lunes"), CheckIn.PLAN),
    **dict.fromkeys(("gap", "gaps", "break", "breaks", "pausa", "pausas"), CheckIn.GAP),
}
ON = frozenset(("on", "yes", "sí", "si"))
OFF = frozenset(("off", "no"))


def check_in_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """Return `/checkins`, and the command that a due gap runs."""
    what = CommandOption("what", "menu.checkins.what")
    return (
        Command("checkins", "menu.checkins", _check_ins, options=(what,)),
        Command(NAME, "menu.checkins", partial(_due, reader), system=True),
    )


async def _check_ins(asked: Invocation) -> Reply | Write:
    """Show what is on, or switch one of both."""
    language, words = language_of(asked.principal.locale), asked.arguments.casefold().split()
    kind = KINDS.get(words[0]) if len(words) == 2 else None
    if kind is not None and words[1] in ON | OFF:
        return change_practice(asked, LocalEffect(choose, kind, on=words[1] in ON))
    choice = await asked.store.read(partial(choice_of, principal=asked.principal), lasting=True)
    week = beginning_of_week(language, asked.principal.week_start)
    said = [
        say(language, "check_in.plan_on" if choice.plan else "check_in.plan_off", **week),
        say(language, "check_in.gap_on" if choice.gap_is_on else "check_in.gap_off"),
        say(language, "check_in.how"),
    ]
    return Reply("\n\n".join(said))


async def _due(reader: PracticeReader, asked: Invocation) -> Reply:
    """Say a sentence about a gap, unless the person has practised since or usually practises so rarely."""
    principal, last = asked.principal, date.fromisoformat(asked.arguments)
    days = await reader.days(principal)
    on_last = [total for total in days if total.day == last]
    if not on_last or max(total.day for total in days) > last or not is_unusual({total.day for total in days}, last):
        return Reply("")
    most = max(on_last, key=lambda total: total.minutes)
    skills = await reader.skills(principal, include_archived=True)
    name = next((skill.name for skill in skills if skill.id == most.skill_id), "")
    today = today_of(principal, asked.now)
    return Reply(gap_text(language_of(principal.locale), escape(name), most.minutes, last, today))
