"""What of the coach reads words: practice, plans, entries, skills. How to register: see `tests.attacks.entries`."""

from datetime import UTC, date, datetime

import orjson

from agent.answer_gate import misfit
from agent.coach import (
    amendments,
    answers,
    chart,
    chart_picture,
    entry_words,
    followed_wishes,
    followups,
    intents,
    plan_answer,
    plan_data,
    practice,
    practice_file,
    reminders,
    reports,
    skill_words,
)
from agent.coach.acts import Act, Task
from agent.coach.plan_data import PlanFrame
from agent.coach.understanding import amounts, clocks, lookups, reading, skills, wishes, words
from agent.coach.understanding.entries import Practised
from agent.coach.understanding.lookups import Lookup, Wanted
from agent.coach.understanding.wishes import RemindWish
from tests.attacks.entries import Entry

TODAY = date(2026, 3, 4)
NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
SKILLS = ("Guitar", "Piano", "Guitar scales", "a", "my")
PIECE_CHARS = 8


def forget() -> None:
    """What is kept of the last message, so that each is read anew."""
    for cached in (words._cut_words, amounts._all_durations, skills._know):  # noqa: SLF001  what they keep is measured
        cached.cache_clear()
    intents.read_request.cache_clear()
    intents.untimed_request.cache_clear()


def heard(text: str) -> None:
    """A message that may tell of practice, for somebody who has skills of such names."""
    for said in (text, f"I practised {text}", f"45m {text}", f"gutiar 45 min, {text}", f"forgot to log {text}"):
        reading.hear(said[: reading.MAX_CHARS], SKILLS, NOW, "en")
    reading.may_be_practice(text)


def looked_up(text: str) -> None:
    """A wish to see or change what is logged."""
    for said in (
        text,
        f"how much did I do {text}",
        f"what did I do {text}",
        f"delete {text}",
        f"change guitar {text}",
        f"find {text} in my notes",
    ):
        lookups.read_lookup(said[: lookups.MAX_CHARS], SKILLS, NOW, "en")


def remind_words(text: str) -> None:
    """A wish to be reminded."""
    for said in (text, f"remind me {text}", f"recuérdame {text} a las siete"):
        wishes.read_remind_wish(said[: wishes.MAX_CHARS], NOW)
        wishes.asks_for_reminders(said[: wishes.MAX_CHARS])
        wishes.asks_to_cancel_reminders(said[: wishes.MAX_CHARS])


def timed_log(text: str) -> None:
    """A log line between two times of day."""
    for said in (text, f"from 7 to {text}", f"guitar de {text} a 8:30"):
        clocks.spell_range(said[: clocks.MAX_LINE_CHARS])


def chart_words(text: str) -> None:
    """Of `/chart`, and a sentence that asks for one."""
    known = [practice.Skill(name, name, "", "", 1, False, 0) for name in SKILLS]
    for said in (text, f"guitar {text}", f"{text} 8 weeks dark"):
        chart.read_chart_wish(said[: chart.MAX_CHARS], known)
        chart.weeks_in(said[: chart.MAX_CHARS])


def drawn(text: str) -> None:
    """Names of skills in a picture."""
    skills = [practice.Skill("s", text[: practice.MAX_NAME_CHARS], "", "#4f46e5", 1, False, 0)]
    report = chart.chart_of(skills, [practice.DayTotal("s", TODAY, 30)], TODAY, 0, chart.ChartWish(), None)
    chart_picture.chart_svg("en", report, chart_picture.LIGHT)
    chart.chart_text("en", report)


def amended(text: str) -> None:
    """A question about an entry, answered by this, behind words that correct it."""
    asked = (Practised(20, "cello", TODAY, is_new=True),)
    forget()
    amendments.amend(f"no, it was {text}"[: amendments.MAX_CHARS], asked, SKILLS, NOW, "en")


def renamed(text: str) -> None:
    """The same, where the words may be the name of another skill."""
    asked = (Practised(20, "cello", TODAY, is_new=True),)
    forget()
    amendments.amend(f"not {text}, viola"[: amendments.MAX_CHARS], asked, SKILLS, NOW, "en")


def followed(text: str) -> None:
    """What goes on from a log, from a question of the coach, from a lookup, a goal and a reminder."""
    forget()
    for opening in ("", "no, it was ", "same for ", "yes ", "make it ", "and "):
        said = f"{opening}{text}"[: followups.MAX_CHARS]
        followups.may_follow(said)
        followups.read_fragment(said, SKILLS, NOW, "en")
        answers.is_granted(said, "Shall I log **20 min of guitar**?")
        followups.first_clause(said)
        followups.says_wrong(said)
        followed_wishes.ask_on(said, Lookup(Wanted.ENTRIES), SKILLS, NOW, "en")
        followed_wishes.change_goal(said, Task(Act.ASK_GOAL, "", meant=Practised(180, "", TODAY)))
        followed_wishes.change_reminder(said, RemindWish(NOW.time(), (), TODAY, ""), NOW)
        followups.swap(said, (), (Practised(20, "Guitar", TODAY), Practised(30, "Piano", TODAY)))
        followups.says_other(said)
        followups.name_other(said, Task(Act.LOG, "", practised=(Practised(20, "Guitar", TODAY),)), SKILLS[:2])
        followups.log_created(said, Task(Act.ASK_CREATE, "", name="viola"), SKILLS, NOW, "en")


def skill_wish(text: str) -> None:
    """A wish about a skill."""
    for said in (text, f"rename guitar to {text}", f"archiva {text}", f"please {text}", f"merge {text} into piano"):
        wishes.read_skill_wish(said[: wishes.MAX_SKILL_WISH_CHARS], SKILLS)
    wishes.may_be_skill_wish(text)


def completed(text: str) -> None:
    """The answer to which skill it was, and to how long it was."""
    entry = Practised(45, "Guitar", TODAY)
    for said in (text, f"it was {text}", "gutiar"):
        amendments.add_skill(said[: reading.MAX_CHARS], entry, SKILLS)
        amendments.add_amount(said[: reading.MAX_CHARS], entry)


def plan_words(text: str) -> None:
    """Behind the command, and a wish in words."""
    known = [practice.Skill(name, name, "", "", 1, False, 0) for name in SKILLS]
    plan_data.read_wish(f"/plan {text}", known)
    plan_data.read_wish(text, known)


def entry_arguments(text: str) -> None:
    """Of `/entries`, `/edit`, `/delete` and `/skill`, alone and behind what can be read."""
    known = [practice.Skill(name, name, "", "", 1, False, 0) for name in SKILLS]
    for said in (text, f"monday guitar {text}", f"40m {text}", f"40m to {text}", f"40m on {text}"):
        entry_words.read_wanted(said, TODAY, 0, known)
        entry_words.read_values(said[: entry_words.MAX_CHARS], TODAY, known)
        skill_words.read_skill_wish(f"guitar {said}", known)
    entry_words.spelled_hours(text[:64])


def searched_notes(text: str) -> None:
    """Words looked for in a note."""
    known = practice.Skill("s", "s", "", "", 1, False, 0)
    logged = practice.PracticeSession("1", "s", 1, TODAY, text[: practice.MAX_NOTES_CHARS])
    reports.entries_report([logged], [known], text=text[:200])


def written_plan(text: str) -> None:
    """A plan as a model may write it, whole and piece by piece."""
    frame = PlanFrame(week=TODAY, days=(TODAY,), is_next=False, most_minutes={}, minutes_done=0)
    for written in (text, f"{plan_answer.FENCE}\n{text}", text.join((plan_answer.FENCE, plan_answer.FENCE))):
        plan_answer.read_plan(written, (), frame)
    stream = plan_answer.PlanStream()
    for piece in (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS)):
        stream.feed(piece)
    stream.rest()


def reminder_arguments(text: str) -> None:
    """Of `/remind`, alone and beside what can be read."""
    for said in (text, f"19:00 {text}", f"{text} 19:00"):
        reminders.read_reminder(said, TODAY)


def supposed(text: str) -> None:
    """Behind a question that supposes a pace."""
    lookups.read_lookup(f"when will I reach 100 hours {text}"[: lookups.MAX_CHARS], SKILLS, NOW, "en")


def imported(text: str) -> None:
    """A file of practice, as either format."""
    skill = f'{{"skills": [{{"name": "{text}", "colour": "{text}"}}], "sessions": []}}'
    lines = f"date,skill,minutes\n{text}", f'[{{"date": "{text}"}}]', f"[{text}", "[" + text * 2 + "]"
    for said in (text, skill, *lines):
        practice_file.read_file(said, TODAY)


def exported(text: str) -> None:
    """Notes on their way into a cell, and out of it."""
    practice_file.unguard_cell(practice_file.guard_cell(text))


ENTRIES: dict[str, Entry] = {
    "agent.answer_gate:misfit": Entry(
        lambda text: [misfit(a, {}) for a in (text, orjson.dumps({text: text}).decode())]
    ),
    "agent.coach.practice_file:guard_cell": Entry(exported, practice.MAX_NOTES_CHARS),
    "agent.coach.practice_file:read_file": Entry(imported, practice_file.MAX_FILE_CHARS),
    "agent.coach.understanding.reading:hear": Entry(heard, reading.MAX_CHARS),
    "agent.coach.amendments:amend": Entry(amended, amendments.MAX_CHARS),
    "agent.coach.amendments:amend of another skill": Entry(renamed, amendments.MAX_CHARS),
    "agent.coach.followups:read_fragment": Entry(followed, followups.MAX_CHARS),
    "agent.coach.understanding.wishes:read_remind_wish": Entry(remind_words, wishes.MAX_CHARS),
    "agent.coach.chart:read_chart_wish": Entry(chart_words, chart.MAX_CHARS),
    "agent.coach.chart_picture:chart_svg": Entry(drawn, practice.MAX_NAME_CHARS),
    "agent.coach.understanding.clocks:spell_range": Entry(timed_log, clocks.MAX_LINE_CHARS),
    "agent.coach.understanding.wishes:read_skill_wish": Entry(skill_wish, wishes.MAX_SKILL_WISH_CHARS),
    "agent.coach.understanding.lookups:read_lookup": Entry(looked_up, lookups.MAX_CHARS),
    "agent.coach.understanding.lookups:_supposed_pace": Entry(supposed, lookups.MAX_CHARS),
    "agent.coach.amendments:add_skill": Entry(completed, reading.MAX_CHARS),
    "agent.coach.plan_data:read_wish": Entry(plan_words, plan_data.MAX_CHARS),
    "agent.coach.intents:asks_for_plan": Entry(intents.asks_for_plan, 2000),
    "agent.coach.plan_data:wants_next_week": Entry(plan_data.wants_next_week, plan_data.MAX_CHARS),
    "agent.coach.plan_data:day_asked": Entry(plan_data.day_asked, plan_data.MAX_CHARS),
    "agent.coach.entry_words:read_wanted": Entry(entry_arguments, entry_words.MAX_CHARS),
    "agent.coach.reports:entries_report": Entry(searched_notes, practice.MAX_NOTES_CHARS),
    "agent.coach.reminders:read_reminder": Entry(reminder_arguments, reminders.MAX_CHARS),
    "agent.coach.plan_answer:read_plan": Entry(written_plan),
    "agent.coach.practice:kind_of_practice": Entry(practice.kind_of_practice),
}

EXCUSED: dict[str, str] = {
    "agent.coach.chart_picture:draw_chart": "looks once at each character of a document of ours",
    "agent.coach.reminder_changes": "writes about reminders, at most 50 of 100 characters each",
    "agent.coach.reminders:last_slot": "walks over the dates of eight days at most",
    "agent.coach.reminders:next_slot": "walks over the dates of ten days at most",
    "agent.coach.offline_work:Work.change_each": "leaves out what a few calls, of five arguments at most, do not say",
    "agent.coach.offline_work:Work.tell_each": "puts together the words on the few entries of one message",
    "agent.coach.understanding.words:phrases_by_first_word": "our own tables, put together once at the start",
    "agent.coach.understanding.skills:KnownSkills.act_of": "looks once at each of a person's 200 skills at most",
    "agent.coach.understanding.skills:_stem": "reads the last three letters of a verb of our own tables",
    "agent.coach.answers:_Answer._complete_loosely": "reads times and one name in 120 characters at most",
    "agent.coach.understanding.pairs:_parts": "matches the roles of one clause, which runs of one letter never double",
    "agent.coach.followups:log_more": "looks for one of a few words in a message of 120 characters at most",
    "agent.coach.followups:correct_another": "looks once for one name in a message that was read as a correction",
    "agent.coach.followups:join_log": "loops over the few entries of one message",
    "agent.coach.followups:repeat_log": "loops over the few entries of one message",
    "agent.coach.followups:correct_log": "loops over the few entries of one message",
    "agent.coach.followups:spell_right": "puts three parts of bounded length together",
    "agent.coach.listener:Listener._after_no": "loops over the few entries that `amend` has read",
    "agent.coach.offline_wishes:cancel_reminders": "looks for a few words in one message that is a wish by then",
    "agent.coach.prose": "writes about a person's skills, whose names have 64 characters at most",
    "agent.coach.changes:_skill_text": "a sentence for each of six things that can be changed",
    "agent.coach.numbers": "writes about a person's skills, whose names have 64 characters at most",
    "agent.coach.rule_plan": "writes about a person's skills, whose names have 64 characters at most",
    "agent.coach.tools": "arguments whose schema bounds them to 200 characters",
    "agent.coach.plan:_answer": "puts the words of one plan behind each other, in one walk",
    "agent.coach.plan:_notice_of": "looks whether one text begins with two of ours",
    "agent.coach.kept_plan": "writes about a plan's sessions and findings, at most 60 of bounded length",
}
