"""How much a turn asks of a model, as a number: what weighs little may go to a cheaper one. Pure; who is asked, and
whether anything is made of it, is `agent.models`' matter.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.context.sizes import estimate_text
from agent.transcript import AssistantItem, Item, ToolItem, UserItem

HEAVY_FROM = 0.35
"""From this score on a turn is the main model's."""

RECENT_ITEMS = 10
"""Of the conversation so many items count for the tools that ran lately."""

_SAID = (UserItem, AssistantItem)
_CODE = re.compile(r"```|[;{}][ \t]*$|\w\(\w*\)|</\w+>|=>", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TurnFeatures:
    """What the score is made of."""

    attached: bool  # something comes with the words: a file, a picture, a quote, what others said
    code: bool  # the words look like a program
    tokens: int  # of the words, about
    recent_tools: int  # results among the last items of the conversation
    depth: int  # messages of the conversation before it


def features_of(history: Sequence[Item], asked: Sequence[UserItem]) -> TurnFeatures:
    """The features of a turn that begins with these items, behind this conversation."""
    words = "\n".join(item.text for item in asked)
    return TurnFeatures(
        attached=any(item.data or item.pictures for item in asked),
        code=_CODE.search(words) is not None,
        tokens=estimate_text(words),
        recent_tools=sum(isinstance(item, ToolItem) for item in history[-RECENT_ITEMS:]),
        depth=sum(isinstance(item, _SAID) for item in history),
    )


def score(turn: TurnFeatures) -> float:
    """From 0, a greeting, to about 2."""
    points = (100 if turn.attached else 0) + (40 if turn.code else 0) + (10 if turn.depth > 10 else 0)
    points += 35 if turn.tokens > 200 else 15 if turn.tokens > 50 else 0
    points += 25 if turn.recent_tools > 3 else 10 if turn.recent_tools > 0 else 0
    return points / 100
