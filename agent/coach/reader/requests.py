"""Requests in words: which command a message asks for, and the complete commands that stand for it. Pure."""

from collections.abc import Sequence
from datetime import date, datetime
from functools import cache
from importlib.resources import files

from rapidfuzz import fuzz, process

from agent.coach.durations import spell_minutes
from agent.coach.entry_arguments import NewValues, read_values
from agent.coach.log_line import LogLineError, near_line, parse_logs
from agent.coach.plan_conditions import read_conditions
from agent.coach.plan_data import NEXT_WEEK
from agent.coach.reader.entries import Choice, OfferedEntry, unread_words
from agent.coach.reminders import read_reminder_words
from agent.coach.reports import EntryRow
from agent.coach.texts import detect, say, say_date
from agent.coach.vocabulary.amounts import Amount, find_amounts, read_number
from agent.coach.vocabulary.days import DAY, find_days
from agent.coach.vocabulary.mentions import find_mentions
from agent.coach.vocabulary.words import Phrases, Token, fold, group_of, languages, phrases, to_tokens
from agent.transcript import SuggestedReply

NAMES = (
    "forget", "undo", "reminder", "timer_stop", "timer_start", "time_zone", "language", "export", "import", "create",
    "goal", "delete", "edit", "chart", "plan", "history", "stats", "skills", "guide", "help",
)  # fmt: skip
"""Requests, the stronger of two phrases of one length first."""

BESIDE_AMOUNTS = frozenset({"undo", "reminder", "goal", "edit", "delete", "timer_stop"})
"""Requests that may name a stretch of time; any other message with one tells of practice."""

SMALL_WORDS = (
    "fillers", "and", "links", "polite", "beside", "on", "was", "negations", "or", "names", "zone_links", "edit", "off",
    "every_day",
)  # fmt: skip
"""Lists of words that are not quoted from a request, whatever is offered."""

AROUND = ("fillers", "and", "links", "polite", "on", "i_have")
"""Lists of words between the conditions of a plan, which say nothing more."""

FEW_WORDS = 8
"""In a longer message one word alone is no request, unless it begins it."""

MOST_OFFERED = 3
_DAY_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MOST_WEEKLY_MINUTES = 60 * 60
"""A goal of more is one for all time."""

LIKE_ZONE = 85
MOST_WISH_CHARS = 40
"""Length of a message that only asks for another language."""


def find_request(text: str, skills: Sequence[str]) -> str | None:
    """Return the name of what a message asks for, or None."""
    tokens = to_tokens(text)
    words = [token for token in tokens if token.is_word]
    named = {place for each in find_mentions(tokens, skills) if each.is_exact for place in range(each.first, each.end)}
    has_amount = bool(find_amounts(tokens))
    begins = any(phrases("practised").at(tokens, at) for at in range(min(3, len(tokens))))
    found: list[tuple[int, str]] = [(1, "history")] if begins and named and text.rstrip().endswith("?") else []
    if has_amount and phrases("was").find(tokens) and _contradicts(tokens):
        found.append((2, "edit"))
    for name in NAMES:
        span = phrases(name).find(tokens)
        if span is None or named.issuperset(range(*span)):
            continue
        length = span[1] - span[0]
        if has_amount and name not in BESIDE_AMOUNTS and (name != "plan" or length < 2):
            continue
        if length > 1 or span[0] <= 2 or len(words) <= FEW_WORDS or name in {"reminder", "goal"}:
            found.append((length, name))
    return max(found, key=lambda each: each[0])[1] if found else None


def _contradicts(tokens: Sequence[Token]) -> bool:
    """Return whether a number is said not to be right: "50 minutes, not 40"."""
    return any(token.is_number and phrases("not").end(tokens, at - 1) == at for at, token in enumerate(tokens) if at)


def is_talk(text: str, name: str) -> bool:
    """Return whether a message is about pain or frustration, or hardly more than a greeting or thanks."""
    tokens = to_tokens(text)
    span = phrases(name).find(tokens)
    if span is None or name == "pain":
        return span is not None
    others = [token for at, token in enumerate(tokens) if token.is_word and at not in range(*span)]
    return len(others) < FEW_WORDS and sum(token.is_word for token in tokens[: span[0]]) < 3


def wants_plan(text: str) -> bool:
    """Return True if a message asks for a weekly plan and says little else."""
    tokens = to_tokens(text := NEXT_WEEK.sub(" ", text))
    span = phrases("new_plan").find(tokens)
    if span is None:
        return False
    others = [at for at in range(len(tokens)) if at not in (conditions := read_conditions(text).used)]
    if conditions:
        small = {place for at in others for name in AROUND for place in range(at, phrases(name).end(tokens, at))}
        others = [at for at in others if at in range(*span) or (tokens[at].is_word and at not in small)]
    if any(phrases("not_done").at(tokens, at) for at in others):
        return False
    return len(others) <= span[1] - span[0] + (1 if span[1] - span[0] == 1 else 2)


_LIMITING = ("at_least", "at_most", "only", "negations", "not_then")


def unread_wish(text: str, skills: Sequence[str]) -> str:
    """Return what a wish for a plan says beside its conditions and its subject, as it was written."""
    tokens = to_tokens(text := NEXT_WEEK.sub(" ", text))
    used = {at for each in find_mentions(tokens, skills) for at in range(each.first, each.end)}
    used |= read_conditions(text).used | set(range(*phrases("new_plan").find(tokens) or (0, 0)))
    rest = unread_words(text, tokens, used, ("fillers", "and", "polite", "on", "i_have", "periods"))
    said = to_tokens(rest)
    limits = any(token.is_number for token in said) or any(phrases(name).find(said) for name in _LIMITING)
    return rest if limits else ""


def named_months(text: str) -> list[str]:
    """Return the months that a message names, as it writes them; a short one may be another word: "may"."""
    tokens = to_tokens(text)
    found = [token for at, token in enumerate(tokens) if len(token.text) > 3 and group_of("months").at(tokens, at)]
    return [text[token.start : token.end] for token in found]


def named_skill(text: str, skills: Sequence[str]) -> str | None:
    """Return the skill that a message names, exactly or nearly."""
    found = find_mentions(to_tokens(text), skills)
    return max(found, key=lambda each: each.is_exact).skill if found else None


def unread_part(
    language: str, request: str, text: str, labels: Sequence[str], skills: Sequence[str], today: date
) -> str:
    """Return what of a request no offer shows, as it was written; "" if each word is shown, denied or small."""
    tokens, shown = to_tokens(text), fold(" ".join(labels))
    words = {token.text for token in to_tokens(shown)}
    spans: list[tuple[int, int, str]] = [
        *((each.first, each.end, spell_minutes(each.minutes)) for each in find_amounts(tokens)),
        *((each.first, each.end, say_date(language, each.day, today)) for each in find_days(tokens, today)),
        *((each.first, each.end, each.skill) for each in find_mentions(tokens, skills)),
    ]
    used = {
        at for at, token in enumerate(tokens) if token.text in words or (token.is_number and _is_negated(tokens, at))
    }
    for first, end, said in spans:
        is_shown = fold(said) in shown or _is_negated(tokens, first)
        used = used.union(range(first, end)) if is_shown else used.difference(range(first, end))
    used.update(place for at in range(len(tokens)) for place in range(at, phrases(request).end(tokens, at)))
    return unread_words(text, tokens, used, SMALL_WORDS)


# ---------------------------------------------------------------- commands


def describe(language: str, choice: Choice, today: date) -> str:
    """Return an entry as a person reads it: "45 min guitar, today"."""
    days = {entry.day for entry in choice}
    parts = []
    for entry in choice:
        day = "" if len(days) == 1 else f", {say_date(language, entry.day, today)}"
        new = f" ({say(language, 'offer.new')})" if entry.is_new else ""
        parts.append(f"{spell_minutes(entry.minutes)} {entry.skill}{new}{day}")
    whole = f", {say_date(language, choice[0].day, today)}" if len(days) == 1 else ""
    return f"{' + '.join(parts)}{whole}"


def log_command(choice: Choice, today: date, skills: Sequence[str], notes: str = "") -> str | None:
    """Return the /log that writes exactly these entries; None if it would read otherwise."""
    for quote in ("", '"'):
        lines = [f"{each.day.isoformat()} {each.minutes}m {quote}{each.skill}{quote}" for each in choice]
        said = "; ".join(lines) + (f" {notes}" if notes else "")
        try:
            logs = parse_logs(said, today, skills)
        except LogLineError:
            continue
        if any(near_line(log, skills) for log in logs):
            continue  # it would be asked about: in quotation marks a new skill is meant
        if [(log.minutes, fold(log.skill), log.day) for log in logs] == [
            (each.minutes, fold(each.skill), each.day) for each in choice
        ] and logs[-1].notes == notes:
            return f"/log {said}"
    return None


def entry_label(language: str, row: EntryRow, today: date) -> str:
    """Return an entry as an offer names it: "chess, 25 min, today"."""
    return f"{row.skill}, {spell_minutes(row.minutes)}, {say_date(language, row.date, today)}"


def meant_entries(
    text: str, rows: Sequence[EntryRow], skills: Sequence[str], today: date, new_minutes: int = 0
) -> list[EntryRow]:
    """Return the entries that a message may be about, the newest first: of its skill, day and minutes, if any are."""
    tokens = to_tokens(text)
    found = sorted(rows, key=lambda row: row.id, reverse=True)
    named = {each.skill for each in find_mentions(tokens, skills)}
    days = {each.day for each in find_days(tokens, today) if not _is_negated(tokens, each.first)}
    minutes = {each.minutes for each in find_amounts(tokens)} - {new_minutes}
    found = [row for row in found if row.skill in named] or found
    found = [row for row in found if row.date in days] or found
    return [row for row in found if row.minutes in minutes] or found


def edit_offers(
    language: str, text: str, rows: Sequence[EntryRow], skills: Sequence[str], today: date
) -> list[SuggestedReply]:
    """Return a button for each entry that a correction may mean, with its new value."""
    minutes, day, named = _right_values(text, skills, today)
    meant, skill = meant_entries(text, rows, skills, today, minutes), named[-1] if named else None
    if len(set(named)) > 1:
        meant = [row for row in meant if row.skill == named[0]]
    elif minutes and named:
        meant = [row for row in meant if row.skill in named]
    offers: list[SuggestedReply] = []
    for row in meant:
        values = NewValues(
            minutes if minutes not in {0, row.minutes} else None,
            skill if skill != row.skill else None,
            day if day != row.date else None,
        )
        said = [] if values.minutes is None else [f"{minutes}m"]
        said += [] if values.skill is None else [f"to {skill}"]
        said += [] if values.day is None else [f"on {values.day.isoformat()}"]
        shown = [] if values.minutes is None else [spell_minutes(minutes)]
        shown += [] if values.skill is None else [values.skill]
        shown += [] if values.day is None else [say_date(language, values.day, today)]
        label = f"{entry_label(language, row, today)} → {', '.join(shown)}"
        is_new = all(label != offer.label for offer in offers)
        if said and is_new and read_values(" ".join(said), today, ()) == values:
            offers.append(SuggestedReply(label, f"/edit {row.id} {' '.join(said)}"))
    return offers[:MOST_OFFERED]


def _right_values(text: str, skills: Sequence[str], today: date) -> tuple[int, date | None, list[str]]:
    """Return the minutes (0: none), the day and the skills that a correction names as right."""
    tokens = to_tokens(text)
    day = next((each.day for each in find_days(tokens, today) if not _is_negated(tokens, each.first)), None)
    named = [each.skill for each in find_mentions(tokens, skills) if not _is_negated(tokens, each.first)]
    return _new_minutes(tokens), day, named


def correct_entry(entry: OfferedEntry, text: str, skills: Sequence[str], today: date) -> OfferedEntry:
    """Return an entry that is not written yet with the values that a correction names."""
    minutes, day, named = _right_values(text, skills, today)
    skill, is_new = (named[-1], False) if named else (entry.skill, entry.is_new)
    return OfferedEntry(minutes or entry.minutes, skill, day or entry.day, is_new)


def _is_negated(tokens: Sequence[Token], at: int) -> bool:
    return any(phrases("negations").end(tokens, at - back) == at for back in (1, 2) if at >= back)


def _new_minutes(tokens: Sequence[Token]) -> int:
    """Return the amount that is right instead: "should be 50 minutes, not 40"; 0 if none is said."""
    amounts = [each for each in find_amounts(tokens) if not _is_negated(tokens, each.first)]
    if amounts:
        return amounts[-1].minutes if phrases("or").at(tokens, amounts[-1].first - 1) else amounts[0].minutes
    dated = {place for each in find_days(tokens, date.max) for place in range(each.first, each.end)}
    for at, token in enumerate(tokens):
        number = read_number(tokens, at) if token.is_number and at not in dated else None
        if number is not None and number[0].denominator == 1 and not _is_negated(tokens, at):
            return int(number[0])
    return 0


def goal_offers(language: str, text: str, skills: Sequence[str]) -> list[SuggestedReply]:
    """Return the goal that is asked for: so much a week, or so much in all for a skill."""
    tokens = to_tokens(text)
    amounts, led = find_amounts(tokens), phrases("goal").find(tokens) or (0, 0)
    amount = next((each for each in amounts if each.first >= led[1]), next(iter(amounts), None))
    if amount is None:
        return []
    skill = next(
        (each.skill for each in find_mentions(tokens, skills) if amount == _nearest(amounts, each.first)), None
    )
    daily = phrases("every_day").find(tokens) is not None
    minutes = amount.minutes * (7 if daily else 1)
    if skill is not None and minutes > MOST_WEEKLY_MINUTES:
        return [_offer(language, "offer.goal_total", f"/skill {skill} goal {minutes}m", skill=skill, minutes=minutes)]
    if skill is not None:
        return [_offer(language, "offer.goal_skill", f"/goal {skill} {minutes}m", skill=skill, minutes=minutes)]
    if minutes > MOST_WEEKLY_MINUTES:
        return []  # a goal for all time is a skill's, and none is named
    return [_offer(language, "offer.goal", f"/goal {minutes}m", skill="", minutes=minutes)]


def _nearest(amounts: Sequence[Amount], at: int) -> Amount:
    return min(amounts, key=lambda each: max(each.first - at, at - each.end + 1))


def _offer(language: str, key: str, command: str, *, skill: str, minutes: int) -> SuggestedReply:
    return SuggestedReply(say(language, key, skill=skill, minutes=spell_minutes(minutes)), command)


def reminder_offers(language: str, text: str, now: datetime) -> list[SuggestedReply]:
    """Return the reminder that is asked for; nothing if the message names no time."""
    said, today = read_reminder_words(text, now), now.date()
    if said is None or said.at is None:
        return []
    if said.day is None:
        when = ", ".join(say(language, f"weekday.{each}") for each in said.weekdays)
        when = say(language, "offer.every_day") if len(said.weekdays) == 7 else when
        days = ",".join(_DAY_NAMES[each] for each in said.weekdays)
    else:
        when = say(language, "day.tomorrow") if said.day == today + DAY else say_date(language, said.day, today)
        days = said.day.isoformat()
    label = say(language, "offer.remind", at=f"{said.at:%H:%M}", when=when)
    command = f"/remind {said.at:%H:%M} {days} {said.about}".strip()
    return [SuggestedReply(f"{label}{f': {said.about}' if said.about else ''}", command)]


def zone_offers(language: str, text: str) -> list[SuggestedReply]:
    """Return the zones that the words behind the request name, by city."""
    tokens = to_tokens(text)
    span = phrases("time_zone").find(tokens) or (0, 0)
    place = " ".join(token.text for token in tokens[phrases("zone_links").end(tokens, span[1]) :] if token.is_word)
    cities = process.extract(place, _zones().keys(), scorer=fuzz.ratio, limit=MOST_OFFERED, score_cutoff=LIKE_ZONE)
    zones = [_zones()[city] for city, *_ in cities]
    return [SuggestedReply(say(language, "offer.zone", zone=zone), f"/timezone {zone}") for zone in zones]


@cache
def _zones() -> dict[str, str]:
    """Return zones by the city in their name, in plain letters."""
    names = files("tzdata").joinpath("zones").read_text("utf-8").split()
    return {
        fold(name.rpartition("/")[2].replace("_", " ")): name for name in names if "/" in name and "Etc/" not in name
    }


def named_language(text: str) -> str | None:
    """Return the code of the language that a message names."""
    tokens = to_tokens(text)
    for language in languages():
        if any(_names(language.code).at(tokens, at) for at in range(len(tokens))):
            return language.code
    return None


def spoken_language(text: str) -> tuple[str, bool] | None:
    """Return the language of a message, and True if the message asks for answers in it; None if nothing tells."""
    if len(text) <= MOST_WISH_CHARS and (wanted := wanted_language(text)) is not None:
        return wanted, True
    said = detect(text, surely=True)
    return None if said is None else (said, False)


def wanted_language(text: str) -> str | None:
    """Return the language in which a message asks for answers: "speak Spanish", "responde en inglés, por favor"."""
    tokens = to_tokens(text)
    span = phrases("language").find(tokens)
    if span is None or span[0] > 2 or find_request(text, ()) != "language":
        return None
    return named_language(text)


@cache
def _names(code: str) -> Phrases:
    return Phrases([each for language in languages() if language.code == code for each in language.lists["names"]])
