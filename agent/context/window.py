"""The context of a turn, kept inside the model's window by layers and then by a summary.

`compaction` makes notes, the gateway stores them, and `model_caller` handles a provider's "too long".
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import structlog

from agent.bounded import Interrupted, run_bounded
from agent.budgets import OverBudget
from agent.config import AgentConfig
from agent.context.compaction import (
    KEPT_SHARE,
    UNRECORDED,
    NotCondensed,
    Stretch,
    condense,
    cut_at,
    leave_out,
    note_steps,
    own_items,
    spans_of,
    summary_item,
)
from agent.context.history import notes_in
from agent.context.layers import fit, old_steps, show_notes, trim_history
from agent.context.sizes import Calibration, WindowRoom, estimate_tokens
from agent.errors import FailureKind
from agent.ports import ChatModel, ModelFacts, ModelFailure, ModelRequest, Principal, Spent, Summary, Turn
from agent.transcript import Item, ModelResponded, StepsNoted, TurnStarted
from agent.turn import TurnScope

log = structlog.get_logger()

TOO_LONG = 1.2
"""Multiple of the window above which a message alone is refused without asking the model."""

PATIENCE = 10
"""Factor on `summary_s` for a summary between turns, for which no person waits."""


def room_of(facts: ModelFacts, limits: AgentConfig) -> WindowRoom:
    """Return the model's window, or the part of it that the operator allows."""
    window_tokens = facts.context_window_tokens
    return WindowRoom(min(window_tokens, limits.context_window_tokens or window_tokens))


class ContextWindow:
    """The conversation of one turn as the model sees it."""

    def __init__(
        self,
        scope: TurnScope,
        model: ChatModel,
        calibration: Calibration,
        fixed_tokens: int,
        pre_compact: Callable[[Principal], Awaitable[str]],
    ) -> None:
        """`fixed_tokens` is the estimate of instructions and tools; `pre_compact` returns the notes of hooks."""
        self._scope = scope
        self._turn = scope.turn  # `compact` shortens it
        self._model = model
        self._calibration = calibration
        self._fixed_tokens = fixed_tokens
        self._pre_compact = pre_compact
        self._answers = model.name  # the model whose window counts: in a chain, the link that answered or refused last
        self._factor = calibration.factor(model.name)  # correction of estimates at the last `items`
        self._made: tuple[object, list[Item]] | None = None  # key and value of the last `items`
        self._talk_tokens = 0  # of the last `items`
        self._whole: Sequence[Item] = ()  # the last `items` before the layers
        self._is_collapsed = False  # the last `items` show no more of old steps than names
        self._has_noted = False
        self._facts = model.facts  # at the start of the turn
        self._room = room_of(self._facts, scope.limits)

    @property
    def history(self) -> Sequence[Item]:
        """Return the items before the turn."""
        return self._turn.history

    def items(self, *, with_history: bool = True) -> list[Item]:
        """Return the items to send, shortened by the layers if needed; never more than the window takes."""
        self._factor = self._calibration.factor(self._answers)
        key = (len(self._scope.journal.events), self._turn.summary, with_history, self._factor)
        if self._made is None or self._made[0] != key:
            self._made = (key, self._fit(with_history=with_history))
        return self._made[1]

    @property
    def asked_tokens(self) -> int:
        """Return the estimated size of the last `items` with instructions and tools."""
        return self._talk_tokens + self._fixed_tokens

    def _fit(self, *, with_history: bool) -> list[Item]:
        own = own_items(self._turn, self._scope.journal, self._turn.summary)
        history = self._turn.history if with_history else ()
        items, room = [*history, *own], self._limit_tokens() - self._overhead()
        known = self._turn.history_tokens if with_history else 0
        if notes := notes_in(self._scope.journal.events):
            items, known = show_notes(items, notes), None
        size = estimate_tokens(items) if known is None else known + estimate_tokens(own)
        self._whole, self._is_collapsed = items, False
        if self._tokens(size) > room:
            items = fit(items, room, self._tokens)
            size = estimate_tokens(items)
            self._is_collapsed = not old_steps(items)
        if self._tokens(size) + self._overhead() > self._room.hard_tokens:
            most = (self._room.hard_tokens - self._overhead()) / self._factor
            most -= estimate_tokens(own)
            items = fit([*trim_history(history, len(history), most), *own], 0.0)
            size = estimate_tokens(items)
        self._talk_tokens = size
        return items

    def output_tokens(self, cap: int) -> int:
        """Return the output cap beside the last `items`."""
        most = min(cap, self._facts.max_output_tokens or cap)
        return self._room.output_tokens(most, self._tokens(self.asked_tokens))

    def note_overflow(self, model: str) -> None:
        """Raise the estimate for this model: it refused the last `items` as too long."""
        self._answers = model
        self._calibration.note_overflow(model, self.asked_tokens, self._room)

    def note(self, model: str, response: ModelResponded) -> None:
        """Learn from this model's count of the last `items`."""
        self._answers = model
        self._calibration.note(model, self.asked_tokens, response.usage.input_tokens)

    async def make_room(self) -> None:
        """Make notes on the steps that are left out, and summarise the older part if no layer brings the conversation
        below its limit.

        Raises:
            ModelFailure: the newest message alone is too long.
            Interrupted: the turn should end.
        """
        self.items()
        if self._is_collapsed:
            await self.note_steps()
            self.items()
        if self._tokens(self._talk_tokens) + self._overhead() <= self._limit_tokens():
            return  # the newest message is part of it
        await self.compact()
        said = [item for event in self._scope.journal.events if isinstance(event, TurnStarted) for item in event.items]
        if self._tokens(estimate_tokens(said)) + self._overhead() > TOO_LONG * self._room.window_tokens:
            raise ModelFailure(FailureKind.CONTEXT, "the message alone is longer than the window")

    async def note_steps(self) -> bool:
        """Put notes in place of the steps of older turns; return False if there are no such steps, or it was tried.

        Without notes, the layers leave the names of the tools.

        Raises:
            Interrupted: the turn should end; nothing has changed.
        """
        spans = () if self._has_noted else old_steps(self._whole)
        if not spans:
            return False
        self._has_noted = True
        noted: list[StepsNoted] = []
        spent: list[Spent] = []
        most_s = min(self._scope.limits.summary_s, self._scope.deadline.remaining_s())
        making = note_steps(self._model, spans, self._scope.journal.steps, noted, spent, self._turn.principal)
        try:
            await run_bounded(making, most_s, self._scope.ports.watchers.until_stopped())
        except Interrupted:
            await self._pay(spent)
            raise
        except (NotCondensed, TimeoutError) as failure:
            log.warning("steps_not_noted", why=str(failure) or "it took too long")
        await self._pay(spent)
        if noted:
            await self._scope.journal.record(*noted)
            log.info("steps_noted", spans=len(noted))
        return bool(noted)

    async def _pay(self, spent: Sequence[Spent]) -> None:
        for cost in spent:
            await self._scope.ports.journal.note_cost(cost)

    async def compact(self) -> bool:
        """Replace the older 70 % by notes, or by a count of what is missing; return False if there is nothing older.

        Raises:
            Interrupted: the turn should end; nothing has changed.
        """
        spans = spans_of(self._turn, self._scope.journal.events)
        kept = cut_at(spans, KEPT_SHARE * sum(estimate_tokens(span.items) for span in spans))
        if kept == 0:
            return False
        summary = leave_out(self._turn.summary, spans, kept)
        spent: list[Spent] = []
        most_s = min(self._scope.limits.summary_s, self._scope.deadline.remaining_s())
        try:
            also = await self._pre_compact(self._turn.principal)
            making = condense(
                self._model, self._turn.summary, spans, kept, self._room, spent, also, self._turn.principal
            )
            summary = await run_bounded(making, most_s, self._scope.ports.watchers.until_stopped())
        except Interrupted:
            await self._pay(spent)
            raise
        except (NotCondensed, TimeoutError) as failure:
            log.warning("context_trimmed", why=str(failure) or "it took too long", left_out=summary.left_out)
        await self._scope.ports.journal.keep_summary(summary, spent)
        self._turn = shorten(self._turn, summary)
        self._turn.prefix.release()
        log.info("context_compacted", condensed=summary.condensed, left_out=summary.left_out, spans=kept)
        return True

    def _limit_tokens(self) -> int:
        """Return the size above which something is done: before a turn's first call the soft limit, later the lower
        one.
        """
        return self._room.turn_tokens if self._scope.journal.steps else self._room.soft_tokens

    def _tokens(self, estimated: int) -> int:
        return int(estimated * self._factor)

    def _overhead(self) -> int:
        return self._tokens(self._fixed_tokens)


def shorten(turn: Turn, summary: Summary) -> Turn:
    """Return the turn with this summary at the beginning of its history."""
    at = next((index for index, id_ in turn.starts if id_ == summary.turn_id), len(turn.history))
    starts = tuple((index - at + 1, id_) for index, id_ in turn.starts if index >= at)
    history = (summary_item(summary), *turn.history[at:])
    return replace(turn, history=history, starts=starts, summary=summary, history_tokens=None)


def is_long(
    items: int,
    talk_tokens: int,
    model: ChatModel,
    limits: AgentConfig,
    fixed: Callable[[], ModelRequest],
    calibration: Calibration,
) -> bool:
    """Return True if a conversation of so many items and estimated tokens is to be condensed between turns.

    `fixed` builds a request without a conversation; it is called only if that can decide.
    """
    if model.name.startswith(UNRECORDED):
        return False
    if items > limits.history_items:
        return True
    most = room_of(model.facts, limits).turn_tokens
    if calibration.tokens(model.name, talk_tokens) < most // 2:
        return False
    return calibration.tokens(model.name, talk_tokens + calibration.sizes.estimate(fixed())) > most


async def condense_ended(
    turn: Turn, model: ChatModel, limits: AgentConfig, spent: list[Spent], also: str = ""
) -> Summary | None:
    """Return the summary of a conversation that `is_long`, with `also` in it; None if that failed or it is one turn.

    The cost is added to `spent` in either case.
    """
    room = room_of(model.facts, limits)
    spans: list[Stretch] = spans_of(turn, ())
    kept = cut_at(spans, KEPT_SHARE * estimate_tokens(turn.history))
    if kept == 0:
        return None
    try:
        making = condense(model, turn.summary, spans, kept, room, spent, also, turn.principal)
        return await run_bounded(making, PATIENCE * limits.summary_s)
    except (NotCondensed, OverBudget, TimeoutError) as failure:
        log.warning("context_not_compacted", why=str(failure) or "it took too long")
        return None
