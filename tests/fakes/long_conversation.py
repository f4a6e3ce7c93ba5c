"""A person who talks to the bot for hundreds of turns, and a model that keeps facts in its notes."""

import re
import time
from dataclasses import dataclass, field

from agent.context.compaction import INSTRUCTIONS
from agent.context.sizes import RequestSizes
from agent.ports import ModelRequest
from agent.transcript import ModelResponded, UserItem
from tests.fakes.spine import Spine

FACT = re.compile(r"fact \d+ is \w+\.")
FACT_EVERY = 60
"""Turns between two facts; the first turn tells one."""

TALK = "Slow scales and long tones with the metronome today, hands apart and then together, and it went rather well. "
ANSWER = "That sounds like a good session. Keep the tempo where it is until three days in a row feel easy. "


@dataclass
class FactKeeper:
    """Answers each request; its notes are all facts that it was shown, and nothing else."""

    sizes: RequestSizes = field(default_factory=RequestSizes)
    asked_tokens: list[int] = field(default_factory=list)  # of each answer's request
    notes_tokens: list[int] = field(default_factory=list)  # of each request for notes
    known: set[str] = field(default_factory=set)  # facts in the newest request

    def answer(self, request: ModelRequest) -> ModelResponded:
        """What the model says to a request."""
        said = "\n".join(f"{item.text}\n{item.data}" for item in request.items if isinstance(item, UserItem))
        facts = dict.fromkeys(FACT.findall(said))
        if request.system is INSTRUCTIONS:
            self.notes_tokens.append(self.sizes.estimate(request))
            return ModelResponded(0, "\n".join(facts))
        self.asked_tokens.append(self.sizes.estimate(request))
        self.known = set(facts)
        return ModelResponded(0, ANSWER * 6)


@dataclass(frozen=True, slots=True)
class TurnCost:
    """What one turn took."""

    asked_tokens: int  # of its request
    notes_tokens: int  # of the requests for notes that came with it
    cpu_s: float


async def talk(spine: Spine, keeper: FactKeeper, turns: int) -> list[TurnCost]:
    """So many turns, one after the other; what each took."""
    spine.model.answer_at_once = keeper.answer
    spine.channel.limited(max_text=4096)
    costs: list[TurnCost] = []
    for turn in range(turns):
        fact = f"fact {turn // FACT_EVERY} is w{turn}x. " if turn % FACT_EVERY == 0 else ""
        notes, answered, begun_s = len(keeper.notes_tokens), len(keeper.asked_tokens), time.process_time()
        await spine.say(f"{fact}{turn}: {TALK * 5}")
        await spine.until(lambda answered=answered: len(keeper.asked_tokens) > answered)
        await spine.quiet()
        costs.append(TurnCost(keeper.asked_tokens[-1], sum(keeper.notes_tokens[notes:]), time.process_time() - begun_s))
    return costs
