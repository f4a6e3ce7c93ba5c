"""A command with a misspelled skill, offered with the skill that it may mean."""

from collections.abc import Sequence

from agent.coach.practice import Skill
from agent.coach.vocabulary.mentions import find_mentions
from agent.coach.vocabulary.words import to_tokens
from agent.transcript import SuggestedReply
from gateway.commands.base import Invocation

MAX_CHARS = 400


def near_offer(asked: Invocation, skills: Sequence[Skill]) -> SuggestedReply | None:
    """Return the command with a known skill in place of a word like it, labelled with that skill; None if none is."""
    text = asked.arguments[:MAX_CHARS]
    tokens = to_tokens(text)
    near = next((each for each in find_mentions(tokens, [skill.name for skill in skills]) if not each.is_exact), None)
    if near is None:
        return None
    before, behind = text[: tokens[near.first].start], text[tokens[near.end - 1].end :]
    return SuggestedReply(near.skill, f"/{asked.name} {before}{near.skill}{behind}")
