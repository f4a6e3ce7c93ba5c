"""Practice in a message: which entries it may mean, and what of it could not be read. Nothing is written here."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from rapidfuzz import fuzz

from agent.coach.vocabulary.amounts import DAY_MINUTES, Amount, find_amounts, read_number
from agent.coach.vocabulary.days import NamedDay, find_days
from agent.coach.vocabulary.mentions import LIKE, Mention, find_mentions
from agent.coach.vocabulary.words import Token, fold, phrases, to_tokens

MOST_CHOICES = 3
MOST_NAME_WORDS = 3
MOST_AMOUNTS = 8
MOST_LEADING_WORDS = 12
MOST_BARE_MINUTES = 300
_SEPARATORS = frozenset(",;.+|/&\n")
_HARMLESS = frozenset(",.!:")


@dataclass(frozen=True, slots=True)
class OfferedEntry:
    """One entry as it would be written."""

    minutes: int
    skill: str
    day: date
    is_new: bool = False  # the person has no such skill yet


Choice = tuple[OfferedEntry, ...]
"""Entries that are written together."""


@dataclass(frozen=True, slots=True)
class PracticeDraft:
    """The possible readings of a message about practice."""

    choices: tuple[Choice, ...]  # the likeliest first; () if the skill is open and there are none
    is_sure: bool = False  # it has the shape of a log line: the one choice can be written at once
    is_alike: bool = False  # the choices are equally likely
    unread: str = ""  # what of the message no choice writes down


def read_practice(text: str, today: date, skills: Sequence[str]) -> PracticeDraft | None:
    """Parse a message as practice; None if it tells of none."""
    tokens = to_tokens(text)
    amounts, days = find_amounts(tokens), find_days(tokens, today)
    taken = {place for span in _spans(amounts, days) for place in range(span.first, span.end)}
    days = [day for day in days if not any(each.first < day.end and day.first < each.end for each in amounts)]
    mentions = find_mentions(tokens, skills, taken)
    lacking = len({each.skill for each in mentions}) - len(amounts)
    named = {each.first for each in mentions}
    bare = _bare(tokens, taken, named, lacking, amounts[0].end if amounts else None) if mentions else []
    clauses = sorted([*amounts, *bare], key=lambda each: each.first)
    clauses = [each for each in clauses if 0 < each.minutes <= DAY_MINUTES]
    if not 0 < len(clauses) <= MOST_AMOUNTS or _is_not_done(tokens, (*clauses, *days), mentions):
        return None
    return _draft(text, tokens, clauses, bool(bare), days, mentions, skills, today)


def _spans(*found: Sequence[Amount | NamedDay | Mention]) -> list[Amount | NamedDay | Mention]:
    return [span for spans in found for span in spans]


def _bare(tokens: Sequence[Token], taken: set[int], named: set[int], lacking: int, behind: int | None) -> list[Amount]:
    """Return numbers that may be minutes without saying so: of skills that lack an amount, or behind an amount."""
    found: list[Amount] = []
    for at, token in enumerate(tokens):
        number = read_number(tokens, at) if at not in taken else None
        if number is None or number[0].denominator > 1 or not 0 < number[0] <= MOST_BARE_MINUTES:
            continue
        end, value = number[1], int(number[0])
        before, after = tokens[at - 1] if at else None, tokens[end] if end < len(tokens) else None
        goes_on = (
            behind is not None
            and at >= behind
            and before is not None
            and (before.text in _SEPARATORS or bool(phrases("and").at(tokens, at - 1)))
            and (after is None or bool(phrases("of").at(tokens, end)) or end in taken)
        )
        is_alone = (after is None or not after.glued or after.text in ",.;)!+") and (
            not token.glued or (before is not None and before.text in "(,:+")
        )
        counts = (
            after is not None and after.is_word and end not in taken | named and not phrases("links").at(tokens, end)
        )
        is_wanted = goes_on or (
            not counts and len(found) < lacking and (token.is_number or bool(phrases("of").at(tokens, end)))
        )
        if is_alone and is_wanted and (token.is_number or value >= 5) and not (found and at < found[-1].end):
            found.append(Amount(value, at, end))
    return found


def _is_not_done(tokens: Sequence[Token], read: Sequence[Amount | NamedDay], mentions: Sequence[Mention]) -> bool:
    """Return whether words say that it was not done, not yet, or not by this person; skills' own words aside."""
    named = {place for each in mentions if each.is_exact for place in range(each.first, each.end)}
    counted = {place for each in read for place in range(each.first, each.end)}
    if any(token.text in "?¿" for token in tokens):
        return True
    told = [at for at in range(len(tokens)) if at not in named and at not in counted]
    return any(phrases("not_done").at(tokens, at) for at in told)


def _draft(
    text: str,
    tokens: Sequence[Token],
    amounts: Sequence[Amount],
    is_bare: bool,
    days: Sequence[NamedDay],
    mentions: Sequence[Mention],
    skills: Sequence[str],
    today: date,
) -> PracticeDraft:
    used = {place for span in _spans(amounts, days, mentions) for place in range(span.first, span.end)}
    clauses = _clauses(tokens, amounts, mentions)
    named = [
        _skill_of(text, tokens, clause, amount, mentions, used) for clause, amount in zip(clauses, amounts, strict=True)
    ]
    used |= {place for each in named if each is not None for place in range(each.first, each.end)}
    unread = unread_words(text, tokens, used)
    known = [each for each in named if each is not None]
    if not known:
        near = tuple((_entry(amounts[0], skill, days, clauses[0], today),) for skill in skills[:MOST_CHOICES])
        return PracticeDraft(near if len(amounts) == 1 else (), is_alike=len(near) > 1, unread=unread)
    for place in range(len(named)):
        if named[place] is None:
            named[place] = named[place - 1] if place and named[place - 1] is not None else known[0]
    entries = [
        _entry(amount, each.skill, days, clause, today, is_new=not each.is_exact and each.skill not in skills)
        for amount, each, clause in zip(amounts, named, clauses, strict=True)
        if each is not None
    ]
    is_sure = (
        len(amounts) == 1 and not is_bare and not unread and not amounts[0].other and not amounts[0].is_range
        and all(each.is_exact for each in mentions) and len({each.skill for each in mentions}) == 1
        and len(days) <= 1 and not any(day.may_come for day in days) and _is_plain(tokens, used)
    )  # fmt: skip
    unsure = next((each for each in mentions if not each.is_exact), None)
    as_typed = (
        "" if unsure is None or len(mentions) > 1 else text[tokens[unsure.first].start : tokens[unsure.end - 1].end]
    )
    choices = _choices(entries, amounts, mentions, skills, as_typed)
    offered = {value for choice in choices for entry in choice for value in (entry.skill, entry.day)}
    left = [each for each in days if each.day not in offered] + [each for each in mentions if each.skill not in offered]
    used -= {place for each in left for place in range(each.first, each.end)}
    return PracticeDraft(choices, is_sure=is_sure, unread=unread_words(text, tokens, used))


def _choices(
    entries: Sequence[OfferedEntry],
    amounts: Sequence[Amount],
    mentions: Sequence[Mention],
    skills: Sequence[str],
    as_typed: str,
) -> tuple[Choice, ...]:
    first, found = entries[0], [tuple(entries)]
    exact = {each.skill for each in mentions if each.is_exact}
    if len(entries) > 1 and len({(each.skill, each.day) for each in entries}) == 1:
        found = [(_sum(entries, first.skill),), *((each,) for each in dict.fromkeys(entries))]
    elif len(entries) > 1 and len(exact) == 1 and any(each.is_new for each in entries):
        found.append((_sum(entries, *exact),))  # parts of one session
    elif len(entries) == 1:
        others = [each.skill for each in mentions if each.skill != first.skill]
        if amounts[0].other:
            found.append((replace(first, minutes=amounts[0].other),))
        if first.is_new:
            likeness = {each: fuzz.ratio(fold(each), fold(first.skill)) for each in skills}
            others += [
                each for each in sorted(skills, key=lambda each: -likeness[each])[:1] if likeness[each] > LIKE / 2
            ]
        found += [(replace(first, skill=skill, is_new=False),) for skill in dict.fromkeys(others)]
        found += [(replace(first, skill=as_typed, is_new=True),)] if as_typed else []
        if len(exact) == 2:
            found.append(tuple(replace(first, skill=skill) for skill in dict.fromkeys(each.skill for each in mentions)))
    return tuple(found[:MOST_CHOICES])


def _sum(entries: Sequence[OfferedEntry], skill: str) -> OfferedEntry:
    return replace(entries[0], minutes=sum(each.minutes for each in entries), skill=skill, is_new=False)


def _entry(
    amount: Amount, skill: str, days: Sequence[NamedDay], clause: range, today: date, *, is_new: bool = False
) -> OfferedEntry:
    own = [day.day for day in days if day.first in clause]
    said = own or [day.day for day in days]
    return OfferedEntry(amount.minutes, skill, said[0] if said else today, is_new)


def _clauses(tokens: Sequence[Token], amounts: Sequence[Amount], mentions: Sequence[Mention]) -> list[range]:
    """Cut the message into as many stretches as there are amounts."""
    begins = [0]
    for before, after in pairwise(amounts):
        own = any(begins[-1] <= each.first < before.first for each in mentions)
        between = [each for each in mentions if before.end <= each.first < after.first]
        cuts = [
            at for at in range(before.end, after.first)
            if tokens[at].text in _SEPARATORS or phrases("and").at(tokens, at)
        ]  # fmt: skip
        if between and own:
            cuts = [at for at in cuts if at < between[0].first] or [between[0].first]
        elif between:
            cuts = [at for at in cuts if at >= between[0].end]
        begins.append(cuts[-1] if between and own and cuts else cuts[0] if cuts else after.first)
    return [range(begin, end) for begin, end in zip(begins, [*begins[1:], len(tokens)], strict=True)]


def _skill_of(
    text: str,
    tokens: Sequence[Token],
    clause: range,
    amount: Amount,
    mentions: Sequence[Mention],
    used: set[int],
) -> Mention | None:
    """Return the skill of one stretch: the one that is named, exactly if any is; else words that may name a new one."""
    own = [each for each in mentions if each.first in clause]
    if own:
        return min(own, key=lambda each: (not each.is_exact, abs(each.first - amount.first)))
    new = _new_name(tokens, amount.end, clause.stop, used) or _new_name_before(tokens, clause.start, amount.first, used)
    return None if new is None else replace(new, skill=text[tokens[new.first].start : tokens[new.end - 1].end])


def _new_name(tokens: Sequence[Token], at: int, stop: int, used: set[int]) -> Mention | None:
    """Return up to three words behind an amount, without those that only lead to them or go on after them."""
    while at < stop and at not in used:
        after = phrases("links").end(tokens, at)
        after = phrases("fillers").end(tokens, at) if after == at else after
        after = at + 1 if after == at and not tokens[at].is_word else after
        if after == at:
            break
        at = after
    end = at
    while end < stop and end not in used and end - at < MOST_NAME_WORDS and tokens[end].is_word:
        if phrases("ends").at(tokens, end) or phrases("fillers").at(tokens, end):
            break
        end += 1
    return Mention("", at, end, False) if sum(len(token.text) for token in tokens[at:end]) > 2 else None


def _new_name_before(tokens: Sequence[Token], start: int, stop: int, used: set[int]) -> Mention | None:
    for at in range(max(start, stop - MOST_LEADING_WORDS), stop):
        if at not in used and (found := _new_name(tokens, at, stop, used)) is not None:
            return found
    return None


def unread_words(text: str, tokens: Sequence[Token], used: set[int], small: Sequence[str] = ("fillers", "and")) -> str:
    """Return the words that are neither read nor small, as they were written, the gaps as "…"."""
    rest, at = list[int](), 0
    while at < len(tokens):
        end = at + 1 if at in used else max(phrases(name).end(tokens, at) for name in small)
        if end == at and (tokens[at].is_word or tokens[at].is_number):
            rest.append(at)
        at = max(end, at + 1)
    runs: list[tuple[int, int]] = []
    for at in rest:
        if runs and not any(place in used for place in range(runs[-1][1] + 1, at)):
            runs[-1] = (runs[-1][0], at)
        else:
            runs.append((at, at))
    return " … ".join(text[tokens[first].start : tokens[last].end] for first, last in runs)


def _is_plain(tokens: Sequence[Token], used: set[int]) -> bool:
    """Return whether nothing but harmless signs stands between the words: no quotation, cross or box."""
    return all(
        token.is_word or token.is_number or token.text in _HARMLESS for at, token in enumerate(tokens) if at not in used
    )
