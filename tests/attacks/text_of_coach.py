"""Functions of the coach that read words: practice, plans, entries, skills."""

import json
from datetime import UTC, date, datetime

from agent.answer_gate import misfit
from agent.coach import (
    chart,
    chart_picture,
    entry_arguments,
    plan_answer,
    plan_data,
    practice,
    practice_file,
    reminders,
    reports,
    skill_arguments,
)
from agent.coach.plan_data import PlanFrame
from agent.coach.reader import entries, reader, requests
from tests.attacks.growth import Entry

TODAY = date(2026, 3, 4)
NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
SKILLS = ("Guitar", "Piano", "Guitar scales", "a", "my")
PIECE_CHARS = 8
ROWS = (reports.EntryRow(id="1", date=TODAY, skill="Guitar", emoji="", minutes=30, notes=""),)


def heard(text: str) -> None:
    for said in (text, f"I practised {text}", f"45m {text}", f"gutiar 45 min, {text}", f"{text} from 7 to 8"):
        entries.read_practice(said[: reader.MAX_CHARS], TODAY, SKILLS)


def asked(text: str) -> None:
    remind, change, zone = f"remind me at 7pm {text}", f"change guitar {text}", f"my time zone is {text}"
    for said in (text, remind, change, zone, f"new skill {text}"):
        short = said[: reader.MAX_CHARS]
        requests.find_request(short, SKILLS)
        requests.wants_plan(short)
        requests.is_talk(short, "pain")
        requests.goal_offers("en", short, SKILLS)
        requests.zone_offers("en", short)
        requests.named_language(short)
    for said in (text, remind):
        requests.reminder_offers("en", said[: reader.MAX_CHARS], NOW)
    for said in (text, change):
        requests.edit_offers("en", said[: reader.MAX_CHARS], ROWS, SKILLS, TODAY)


def chart_words(text: str) -> None:
    known = [practice.Skill(name, name, "", "", 1, False, 0) for name in SKILLS]
    for said in (text, f"guitar {text}", f"{text} 8 weeks dark"):
        chart.read_chart_wish(said[: chart.MAX_CHARS], known)
        chart.weeks_in(said[: chart.MAX_CHARS])


def drawn(text: str) -> None:
    skills = [practice.Skill("s", text[: practice.MAX_NAME_CHARS], "", "#4f46e5", 1, False, 0)]
    report = chart.chart_of(skills, [practice.DayTotal("s", TODAY, 30)], TODAY, 0, chart.ChartWish(), None)
    chart_picture.chart_svg("en", report, chart_picture.LIGHT)
    chart.chart_text("en", report)


def plan_words(text: str) -> None:
    known = [practice.Skill(name, name, "", "", 1, False, 0) for name in SKILLS]
    plan_data.read_wish(f"/plan {text}", known)
    plan_data.read_wish(text, known)


def arguments_of_entries(text: str) -> None:
    known = [practice.Skill(name, name, "", "", 1, False, 0) for name in SKILLS]
    for said in (text, f"monday guitar {text}", f"40m {text}", f"40m to {text}", f"40m on {text}"):
        entry_arguments.read_wanted(said, TODAY, 0, known)
        entry_arguments.read_values(said[: entry_arguments.MAX_CHARS], TODAY, known)
        skill_arguments.read_skill_wish(f"guitar {said}", known)
    entry_arguments.spelled_hours(text[:64])


def searched_notes(text: str) -> None:
    known = practice.Skill("s", "s", "", "", 1, False, 0)
    logged = practice.PracticeSession("1", "s", 1, TODAY, text[: practice.MAX_NOTES_CHARS])
    reports.entries_report([logged], [known], text=text[:200])


def written_plan(text: str) -> None:
    frame = PlanFrame(week=TODAY, days=(TODAY,), is_next=False, most_minutes={}, minutes_done=0)
    for written in (text, f"{plan_answer.FENCE}\n{text}", text.join((plan_answer.FENCE, plan_answer.FENCE))):
        plan_answer.read_plan(written, (), frame)
    stream = plan_answer.PlanStream()
    for piece in (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS)):
        stream.feed(piece)
    stream.rest()


def reminder_arguments(text: str) -> None:
    for said in (text, f"19:00 {text}", f"{text} 19:00"):
        reminders.read_reminder(said, TODAY)


def imported(text: str) -> None:
    skill = f'{{"skills": [{{"name": "{text}", "colour": "{text}"}}], "sessions": []}}'
    lines = f"date,skill,minutes\n{text}", f'[{{"date": "{text}"}}]', f"[{text}", "[" + text * 2 + "]"
    for said in (text, skill, *lines):
        practice_file.read_file(said, TODAY)


def exported(text: str) -> None:
    practice_file.unguard_cell(practice_file.guard_cell(text))


ENTRIES: dict[str, Entry] = {
    "agent.answer_gate:misfit": Entry(lambda text: [misfit(a, {}) for a in (text, json.dumps({text: text}))]),
    "agent.coach.practice_file:guard_cell": Entry(exported, practice.MAX_NOTES_CHARS),
    "agent.coach.reader.entries:read_practice": Entry(heard, reader.MAX_CHARS, one_of=4),
    "agent.coach.reader.requests:find_request": Entry(asked, reader.MAX_CHARS, one_of=4),
    "agent.coach.practice_file:read_file": Entry(imported, practice_file.MAX_FILE_CHARS),
    "agent.coach.chart:read_chart_wish": Entry(chart_words, chart.MAX_CHARS),
    "agent.coach.chart_picture:chart_svg": Entry(drawn, practice.MAX_NAME_CHARS),
    "agent.coach.plan_data:read_wish": Entry(plan_words, plan_data.MAX_CHARS),
    "agent.coach.entry_arguments:read_wanted": Entry(arguments_of_entries, entry_arguments.MAX_CHARS, one_of=4),
    "agent.coach.reports:entries_report": Entry(searched_notes, practice.MAX_NOTES_CHARS),
    "agent.coach.reminders:read_reminder": Entry(reminder_arguments, reminders.MAX_CHARS),
    "agent.coach.plan_answer:read_plan": Entry(written_plan),
    "agent.coach.practice:kind_of_practice": Entry(practice.kind_of_practice),
}
