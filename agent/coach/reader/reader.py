"""The coach without a model: reads one message, answers from the person's data, and offers commands as buttons.

It keeps no conversation state. It writes by itself only what has the shape of a log line; everything else that would
change something is an offer, and each button is one complete command.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent.catalogue import escape, language_of
from agent.coach.chart import weeks_in
from agent.coach.plan_answer import plan_block
from agent.coach.plan_conditions import conditions_text, read_conditions
from agent.coach.plan_data import NEXT_WEEK, Prefetched
from agent.coach.prose import entries_text, skill_stats_text, skills_text, stats_text
from agent.coach.reader import requests
from agent.coach.reader.entries import MOST_CHOICES, PracticeDraft, read_practice
from agent.coach.reader.work import CannotAnswer, NeedsTools, Work
from agent.coach.reports import (
    EntriesReport,
    EntryRow,
    JourneyReport,
    PatternsReport,
    PlanReport,
    RemindersReport,
    SkillsReport,
)
from agent.coach.rule_plan import plan_sessions, plan_text
from agent.coach.saved_plan import saved_plan_text
from agent.coach.texts import say
from agent.coach.vocabulary.amounts import find_amounts, is_negative
from agent.coach.vocabulary.mentions import find_mentions
from agent.coach.vocabulary.words import languages, phrases, to_tokens
from agent.models.offline import RuleAnswer
from agent.ports import ModelRequest
from agent.transcript import EDITED, SuggestedReply
from agent.wellformed import clean, cut_text

MAX_CHARS = 2_000
MOST_QUOTED_CHARS = 120
MOST_NOTES_CHARS = 60


@dataclass(frozen=True, slots=True)
class ReaderAnswer:
    """The answer to one message."""

    text: str
    offers: tuple[SuggestedReply, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """One message, with what its answer needs."""

    work: Work
    text: str
    language: str
    skills: tuple[str, ...]
    request: str = ""  # the name of what it asks for

    def say(self, key: str, **values: object) -> str:
        """Return a text in the language of the message."""
        return say(self.language, key, **values)


class OfflineReader:
    """`OfflineRules` of the practice coach, in every language that has a data file."""

    def __init__(self) -> None:
        for name in languages()[0].lists:
            phrases(name)  # read once, at the start

    def answer(self, request: ModelRequest) -> RuleAnswer:
        """Return the next calls, or the answer to everything that is not answered yet."""
        work, context = Work(request), request.context
        language = work.language(work.messages[-1] if work.messages else "")
        notice = say(language, "offline.notice") if work.is_first else ""
        if context is not None and isinstance(context.data, Prefetched):
            return RuleAnswer(_written_plan(language_of(context.locale), context.data))
        if work.has_pictures and not any(text.strip() for text in work.messages):
            return RuleAnswer(say(work.locale, "offline.picture"), notice=notice)
        said: list[ReaderAnswer] = []
        try:
            for text in work.messages or ("",):
                if said and said[-1].offers:  # one offer at a time: the newest is the one with buttons
                    before = work.messages[len(said) - 1]
                    said[-1] = ReaderAnswer(say(work.language(before), "offline.again", said=_quote(before)))
                said.append(_answer(work, clean(text[:MAX_CHARS]), is_first=not said))
        except NeedsTools as needed:
            return RuleAnswer(calls=needed.calls)
        offers = tuple(replace(offer, language=language) for offer in said[-1].offers)
        return RuleAnswer("\n\n".join(each.text for each in said), replies=offers, notice=notice)


def _quote(text: str) -> str:
    return escape(cut_text(clean(text), MOST_QUOTED_CHARS))


def _written_plan(language: str, data: Prefetched) -> str:
    """Return a plan by rules, in the form in which a model writes one."""
    sessions = plan_sessions(data.journey, data.patterns, data.frame)
    text = plan_text(language, data.journey, data.patterns, data.frame, sessions)
    return f"{text}\n\n{plan_block(sessions)}" if sessions else text


def _answer(work: Work, text: str, *, is_first: bool) -> ReaderAnswer:
    language, is_edited = work.language(text), text.startswith(EDITED)
    text = text.removeprefix(EDITED)
    words = [token for token in to_tokens(text) if token.is_word or token.is_number]
    for answer, key in (("yes", "offline.yes"), ("no", "offline.no")):
        if words and phrases(answer).end(words, 0) == len(words):
            return ReaderAnswer(say(language, key))
    for talk, key in (("greeting", "offline.greeting"), ("thanks", "offline.thanks")):
        if requests.is_talk(text, talk) and not requests.find_request(text, ()) and not find_amounts(to_tokens(text)):
            return ReaderAnswer(say(language, key))
    corrects = "edit" if is_edited and find_amounts(to_tokens(text)) else None  # what it said before may be logged
    try:
        work.ask_all(("get_user_skills", *_READS.get(corrects or requests.find_request(text, ()) or "", ())), language)
        skills = work.read(SkillsReport, "get_user_skills", language).skills
        asked = ReadMessage(work, text, language, tuple(skill.name for skill in skills))
        request = corrects or requests.find_request(text, asked.skills)
        takes_back = request in {"edit", "undo"} and is_first and not is_edited
        if takes_back and (offered := _correct_offer(asked)) is not None:
            return offered
        if request is not None:
            return _REQUESTS[request](replace(asked, request=request))
        draft = read_practice(text, work.today, asked.skills)
        if draft is not None:
            return _practice(asked, draft)
    except CannotAnswer as words:
        return ReaderAnswer(str(words))
    if requests.is_talk(text, "pain"):
        return ReaderAnswer(say(language, "offline.pain"))
    if _tells_of_practice(asked):
        return ReaderAnswer(
            asked.say("offer.how_long", skill=escape(find_mentions(to_tokens(text), asked.skills)[0].skill))
        )
    return _conditions(asked) or _fallback(asked)


def _conditions(asked: ReadMessage) -> ReaderAnswer | None:
    """Offer a plan that keeps the conditions of the message; None if it has none."""
    said = read_conditions(asked.text).conditions
    if not (words := conditions_text(asked.language, said)):
        return None
    named, rest = requests.named_skill(asked.text, asked.skills), requests.unread_wish(asked.text, asked.skills)
    question = asked.say("offer.conditions", conditions=words)
    if named is not None:
        question = asked.say("offer.conditions_once", conditions=words, skill=escape(named))
    unread = f" {asked.say('plan.unread', rest=_quote(rest))}" if rest else ""
    plan = f"/plan new {words}" if named is None else f"/plan new {named} {words}"
    return ReaderAnswer(f"{question}{unread}", _one(asked, "offer.plan_so", plan).offers)


# ---------------------------------------------------------------- practice


def _practice(asked: ReadMessage, draft: PracticeDraft) -> ReaderAnswer:
    """Write what is sure; else offer exactly what would be written."""
    today = asked.work.today
    if draft.is_sure:
        (entry,) = draft.choices[0]
        day = {} if entry.day == today else {"date": entry.day.isoformat()}
        return ReaderAnswer(
            asked.work.change("log_practice", asked.language, skill=entry.skill, minutes=entry.minutes, **day)
        )
    offers: list[SuggestedReply] = []
    for choice in draft.choices:
        command = requests.log_command(choice, today, asked.skills)
        if command is not None:
            what = requests.describe(asked.language, choice, today)
            offers.append(
                SuggestedReply(asked.say("offer.log", what=what), command, is_yes=not offers and not draft.is_alike)
            )
    notes = draft.unread if len(draft.unread) <= MOST_NOTES_CHARS and "…" not in draft.unread else ""
    if notes and 0 < len(offers) < MOST_CHOICES:
        command = requests.log_command(draft.choices[0], today, asked.skills, notes)
        if command is not None and not draft.is_alike:
            offers.append(SuggestedReply(asked.say("offer.with_note", note=notes), command))
    if not offers:
        return ReaderAnswer(asked.say("offer.no_skill", said=_quote(asked.text)))
    what = escape(requests.describe(asked.language, draft.choices[0], today))
    question = asked.say("offer.which_log") if draft.is_alike else asked.say("offer.shall_i", what=what)
    unread = [asked.say("offer.unread", rest=_quote(draft.unread))] if draft.unread else []
    sorry = [asked.say("offline.pain")] if requests.is_talk(asked.text, "pain") else []
    return ReaderAnswer(" ".join([*sorry, question, *unread]), tuple(offers))


def _correct_offer(asked: ReadMessage) -> ReaderAnswer | None:
    """Offer with its right values what was offered before and is not logged; None if something else is corrected."""
    skills, today, talk, corrections = asked.skills, asked.work.today, [*asked.work.earlier], [asked.text]
    while talk and requests.find_request(talk[-1][0], skills) == "edit":
        corrections.insert(0, talk.pop()[0])
    said, day = talk[-1] if talk else ("", today)
    draft = None if requests.find_request(said, skills) else read_practice(said, day, skills)
    if draft is None or draft.is_sure:
        return None
    before, choices, seen = draft.choices, draft.choices, list(draft.choices)
    for text in corrections:
        corrected = (tuple(requests.correct_entry(each, text, skills, today) for each in made) for made in choices)
        before, choices = choices, tuple(dict.fromkeys(corrected))
        seen += choices
    rows = asked.work.read(EntriesReport, "get_entries", asked.language).entries
    logged = {(row.minutes, row.skill, row.date) for row in rows}
    if any((entry.minutes, entry.skill, entry.day) in logged for choice in seen for entry in choice):
        return None
    if choices == before or any(len(choice) > 1 for choice in choices):
        return ReaderAnswer(asked.say("offer.not_logged"))
    return _practice(asked, PracticeDraft(choices, is_alike=draft.is_alike and len(choices) > 1))


def _tells_of_practice(asked: ReadMessage) -> bool:
    """Return whether a message tells of practice and leaves out how long."""
    tokens = to_tokens(asked.text)
    done = any(phrases("practised").at(tokens, at) for at in range(len(tokens)))
    undone = any(token.text in "?¿" or phrases("not_done").at(tokens, at) for at, token in enumerate(tokens))
    return done and not undone and bool(find_mentions(tokens, asked.skills))


def _fallback(asked: ReadMessage) -> ReaderAnswer:
    """Say in one sentence that it was not understood, and offer what is asked most."""
    commands = (
        ("offer.how_to_log", "/help"),
        ("offer.stats", "/stats"),
        ("offer.plan", "/plan"),
        ("offer.skills", "/skills"),
    )
    why = "problem.negative" if is_negative(asked.text) else "offline.unknown"
    why = "offline.file" if asked.work.has_files else why
    return ReaderAnswer(asked.say(why), tuple(SuggestedReply(asked.say(key), command) for key, command in commands))


# ---------------------------------------------------------------- requests


def _ask(asked: ReadMessage, offers: Sequence[SuggestedReply]) -> ReaderAnswer:
    """Ask which of several commands is meant; one alone may be answered with yes."""
    if len(offers) > 1:
        return ReaderAnswer(asked.say("offer.which"), tuple(offers))
    return ReaderAnswer(asked.say("offer.shall_do", what=escape(offers[0].label)), (replace(offers[0], is_yes=True),))


def _offer_each(asked: ReadMessage, offers: Sequence[SuggestedReply], otherwise: str) -> ReaderAnswer:
    """Offer commands and quote what of the message they leave out; without any say what is lacking."""
    if not offers:
        return ReaderAnswer(asked.say(otherwise))
    answer, labels = _ask(asked, offers), [offer.label for offer in offers]
    rest = requests.unread_part(asked.language, asked.request, asked.text, labels, asked.skills, asked.work.today)
    return replace(answer, text=f"{answer.text} {asked.say('offer.unread', rest=_quote(rest))}") if rest else answer


def _one(asked: ReadMessage, key: str, command: str, **values: object) -> ReaderAnswer:
    return _offer_each(asked, [SuggestedReply(asked.say(key, **values), command)], key)


def _stats(asked: ReadMessage) -> ReaderAnswer:
    work, named = asked.work, requests.named_skill(asked.text, asked.skills)
    if months := requests.named_months(asked.text):
        commands = [" ".join(filter(None, ("/stats", named, month))) for month in months]
        return _ask(asked, [SuggestedReply(command, command) for command in commands[:MOST_CHOICES]])
    journey = work.read(JourneyReport, "get_journey_stats", asked.language)
    about = next((each for each in journey.skills if each.skill.name == named), None)
    if about is not None:
        return ReaderAnswer(skill_stats_text(asked.language, about, journey.today))
    return ReaderAnswer(
        stats_text(asked.language, journey, work.read(PatternsReport, "analyze_practice_patterns", asked.language))
    )


def _skills(asked: ReadMessage) -> ReaderAnswer:
    report = asked.work.read(SkillsReport, "get_user_skills", asked.language)
    return ReaderAnswer(skills_text(asked.language, report))


def _history(asked: ReadMessage) -> ReaderAnswer:
    named = requests.named_skill(asked.text, asked.skills)
    wanted = {} if named is None else {"skill": named}
    report = asked.work.read(EntriesReport, "get_entries", asked.language, **wanted)
    return ReaderAnswer(entries_text(asked.language, report, asked.work.today))


def _chart(asked: ReadMessage) -> ReaderAnswer:
    named, weeks = requests.named_skill(asked.text, asked.skills), weeks_in(asked.text)
    wanted = {"skill": named, "weeks": weeks}
    given = {key: value for key, value in wanted.items() if value is not None}
    return ReaderAnswer(asked.work.change("plot_progress", asked.language, **given))


def _plan(asked: ReadMessage) -> ReaderAnswer:
    """Show the saved plan; without one, or for the next week, offer it."""
    if NEXT_WEEK.search(asked.text):
        return _one(asked, "offer.plan_next", "/plan next")
    report = asked.work.read(PlanReport, "show_plan", asked.language)
    if report.found:
        return ReaderAnswer(saved_plan_text(asked.language, report))
    named = requests.named_skill(asked.text, asked.skills)
    made = _one(asked, "offer.make_plan", "/plan new" if named is None else f"/plan new {named}")
    return ReaderAnswer(f"{made.text} {asked.say('offer.plan_as_is')}", made.offers)


def _reminder(asked: ReadMessage) -> ReaderAnswer:
    tokens = to_tokens(asked.text)
    if phrases("off").find(tokens):
        return _one(asked, "offer.reminders_off", "/remind off")
    offers = requests.reminder_offers(asked.language, asked.text, asked.work.now)
    if offers:
        return _ask(asked, offers)  # its subject is all that is no time
    report = asked.work.read(RemindersReport, "list_reminders", asked.language)
    key = "offer.reminders" if report.reminders else "remind.how"
    return _one(asked, key, "/remind") if report.reminders else ReaderAnswer(asked.say(key))


def _goal(asked: ReadMessage) -> ReaderAnswer:
    offers = requests.goal_offers(asked.language, asked.text, asked.skills)
    if not offers and find_amounts(to_tokens(asked.text)):
        return ReaderAnswer(asked.say("offer.name_skill"))
    return _offer_each(asked, offers, "") if offers else _one(asked, "offer.show_goal", "/goal")


def _delete(most: int) -> Callable[[ReadMessage], ReaderAnswer]:
    """Offer to delete the entries that are meant, the newest first, by their ids."""

    def answer(asked: ReadMessage) -> ReaderAnswer:
        rows = asked.work.read(EntriesReport, "get_entries", asked.language).entries
        meant = requests.meant_entries(asked.text, rows, asked.skills, asked.work.today)[:most]
        return _offer_each(asked, [_deletion(asked, row) for row in meant], "problem.nothing_to_undo")

    return answer


def _deletion(asked: ReadMessage, row: EntryRow) -> SuggestedReply:
    label = requests.entry_label(asked.language, row, asked.work.today)
    return SuggestedReply(asked.say("offer.delete", what=label), f"/delete {row.id}")


def _edit(asked: ReadMessage) -> ReaderAnswer:
    rows = asked.work.read(EntriesReport, "get_entries", asked.language).entries
    offers = requests.edit_offers(asked.language, asked.text, rows, asked.skills, asked.work.today)
    if not offers and len(to_tokens(asked.text)) > requests.FEW_WORDS:
        return _fallback(asked)
    return _offer_each(asked, offers, "entries.how_edit" if rows else "problem.nothing_logged")


def _start_timer(asked: ReadMessage) -> ReaderAnswer:
    named = requests.named_skill(asked.text, asked.skills)
    chosen = asked.skills[:MOST_CHOICES] if named is None else (named,)
    offers = [SuggestedReply(asked.say("offer.start", skill=skill), f"/start {skill}") for skill in chosen]
    return _offer_each(asked, offers, "timer.how")


def _language(asked: ReadMessage) -> ReaderAnswer:
    code = requests.named_language(asked.text)
    if asked.work.keeps_language and code == asked.work.locale:
        return ReaderAnswer(asked.say("offline.language"))
    offers = [] if code is None else [SuggestedReply(say(code, "offer.language"), f"/language {code}")]
    return _offer_each(asked, offers, "offer.which_language")


_READS = {
    "stats": ("get_journey_stats", "analyze_practice_patterns"), "history": ("get_entries",), "plan": ("show_plan",),
    "undo": ("get_entries",), "delete": ("get_entries",), "edit": ("get_entries",),
}  # fmt: skip
"""Tools that an answer needs beside the skills, asked in the same step."""

_REQUESTS: dict[str, Callable[[ReadMessage], ReaderAnswer]] = {
    "stats": _stats,
    "history": _history,
    "chart": _chart,
    "plan": _plan,
    "skills": _skills,
    "reminder": _reminder,
    "goal": _goal,
    "undo": _delete(1),
    "delete": _delete(MOST_CHOICES),
    "edit": _edit,
    "create": lambda asked: ReaderAnswer(asked.say("offer.name_skill")),
    "timer_start": _start_timer,
    "timer_stop": lambda asked: _one(asked, "offer.done", "/done"),
    "language": _language,
    "time_zone": lambda asked: _offer_each(asked, requests.zone_offers(asked.language, asked.text), "offer.which_zone"),
    "export": lambda asked: _one(asked, "offer.export", "/export"),
    "import": lambda asked: ReaderAnswer(asked.say("offer.how_import")),
    "guide": lambda asked: ReaderAnswer(asked.say("offline.guide")),
    "help": lambda asked: ReaderAnswer(asked.say("offline.help")),
    "forget": lambda asked: ReaderAnswer(asked.say("forget.how")),
}
