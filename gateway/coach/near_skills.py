"""A command with a misspelled skill, offered with the skill that it may mean."""

from collections.abc import Sequence

from agent.catalogue import escape, language_of
from agent.coach.practice import Skill
from agent.coach.texts import say
from agent.coach.vocabulary.mentions import find_mentions
from agent.coach.vocabulary.words import to_tokens
from agent.transcript import SuggestedReply
from agent.wellformed import clean
from gateway.commands.base import Invocation, Reply

MAX_CHARS = 400
SHOWN_CHARS = 64


def ask_near(asked: Invocation, named: str, skills: Sequence[Skill]) -> Reply | None:
    """Ask if another skill was meant than the unknown one that was named; None if none has a name like it."""
    if (offer := near_offer(asked, skills)) is None:
        return None
    language, detail = language_of(asked.principal.locale), escape(clean(named)[:SHOWN_CHARS])
    return Reply(say(language, "problem.near_skill", detail=detail, near=escape(offer.label)), offers=(offer,))


def near_offer(asked: Invocation, skills: Sequence[Skill]) -> SuggestedReply | None:
    """Return the command with a known skill in place of a word like it, labelled with that skill; None if none is."""
    text = asked.arguments[:MAX_CHARS]
    tokens = to_tokens(text)
    near = next((each for each in find_mentions(tokens, [skill.name for skill in skills]) if not each.is_exact), None)
    if near is None:
        return None
    before, behind = text[: tokens[near.first].start], text[tokens[near.end - 1].end :]
    return SuggestedReply(near.skill, f"/{asked.name} {before}{near.skill}{behind}")
