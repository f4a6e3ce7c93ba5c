"""`/chart [skill] [weeks]`: practice as a picture, and the same numbers in words."""

from functools import partial

from agent.calendar import today_of
from agent.coach.chart import chart_of, chart_text, read_chart_wish
from agent.coach.chart_picture import MIME, plot
from agent.coach.practice import PracticeReader
from agent.coach.texts import say
from agent.language import escape, language_of
from channels.base import CommandOption
from channels.messages import AttachmentKind, OutboundMedia
from gateway.commands.base import Command, Invocation, Reply


def chart_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """The command over what `reader` knows."""
    what = CommandOption("what", "menu.chart.what")
    return (Command("chart", "menu.chart", partial(_chart, reader), options=(what,)),)


async def _chart(reader: PracticeReader, asked: Invocation) -> Reply:
    """Draw what is asked for; where nothing is logged, say so."""
    principal, language = asked.principal, language_of(asked.principal.locale)
    skills = await reader.skills(principal, include_archived=bool(asked.arguments.strip()))
    wish = read_chart_wish(asked.arguments, skills)
    if wish.rest:
        return Reply(say(language, "problem.unknown_skill", detail=escape(wish.rest[:64])))
    shown = [skill for skill in skills if not skill.archived or skill is wish.skill]
    totals, goal = await reader.days(principal), await reader.weekly_goal(principal)
    chart = chart_of(shown, totals, today_of(principal, asked.now), principal.week_start, wish, goal)
    if not any(skill.total_minutes for skill in shown):
        return Reply(say(language, "stats.nothing_yet"))
    made = await plot(language, chart, is_dark=wish.is_dark)
    file = OutboundMedia(AttachmentKind.PHOTO, made.name, MIME, made.png, made.description)
    return Reply(chart_text(language, chart), files=(file,) if made.png else ())
