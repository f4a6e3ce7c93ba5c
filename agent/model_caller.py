"""Calls of the model for one whole response: build the request, forward the stream, retry with a smaller request.

The loop decides what a response means, `recovery` repairs an unusable one, and `agent.models` waits for a busy provider
and retries. Recovery steps are collected during a call and journaled after it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from agent.bounded import Interrupted, run_bounded
from agent.calendar import context_of
from agent.context.layers import blank_old_results, keep_newest_pictures
from agent.context.sizes import Tries, TryCost, features_of, said_chars, score
from agent.context.window import ContextWindow
from agent.definition import Agent
from agent.errors import FailureKind
from agent.fallbacks import Fallback, Recovered, ResponseDiscarded
from agent.journal import Journal
from agent.pictures import Unseen, without_pictures
from agent.ports import (
    Alive,
    CallStreamed,
    ChatModel,
    ModelAtWork,
    ModelEvent,
    ModelFailure,
    ModelRequest,
    Pinged,
    Principal,
    Recovering,
    RetryPause,
    TextDelta,
    TextDiscarded,
    ToolSpec,
    Turn,
)
from agent.responses import at_most, with_own_ids
from agent.tools.executor import Executor
from agent.transcript import AssistantItem, EndReason, Item, ModelResponded, TurnStarted, Usage, answer_separator
from agent.turn import TurnScope

TOLD_CALLS = 2
"""Factor on `max_calls`: this many calls are kept, each with a result; of more, only the number."""

SLIM_RESULTS = 2
"""Tool results that are sent after the provider has refused a request as too long."""


FEWER_PICTURES = (Fallback.PICTURES_DROPPED, Fallback.PICTURES_STRIPPED)
"""Fallbacks if a provider refuses a request with pictures; few say that the pictures are the reason."""

LESS = (
    Fallback.RESULTS_DROPPED,
    Fallback.PICTURES_DROPPED,
    Fallback.STEPS_NOTED,
    Fallback.COMPACTED,
    Fallback.HISTORY_DROPPED,
    Fallback.PICTURES_STRIPPED,
)
"""Fallbacks if a provider refuses a request as too long."""


class ModelCaller:
    """The model calls of one turn. Read-only tool calls start while their response still streams."""

    def __init__(self, scope: TurnScope, agent: Agent, executor: Executor) -> None:
        """`executor` runs the calls that start early."""
        turn, now = scope.turn, scope.clock()
        self._scope = scope
        self._model = agent.model
        self._model_name = agent.model_name
        self._executor = executor
        prompt = agent.system_prompt(turn.principal, now, turn.hints, turn.memory)
        self._prompt = turn.prefix.latch(prompt, agent.prompt)
        self._context = replace(context_of(turn.principal, now), is_products=agent.is_products)
        self._weigh = partial(_weight_of, turn)
        fixed_tokens = agent.calibration.sizes.estimate_fixed(self._prompt, agent.toolbox.specs)
        self._window = ContextWindow(scope, agent.model, agent.calibration, fixed_tokens, agent.hooks.pre_compact)
        self._recoveries = Recoveries(scope.journal, agent.model)
        self._retry_budget_s = scope.limits.patience_s
        self._streamed: list[str] = []  # of the current response
        self._separator = ""  # between the earlier answer and the current response

    async def ask(self, *, with_tools: bool = True) -> ModelResponded:
        """Return one whole response to the conversation so far, unless a stop or the deadline cuts it short.

        Raises:
            Interrupted: the turn should end; `streamed_text` is the partial text.
            ModelFailure: there is no response, and no fallback is left.
        """
        response: ModelResponded | None = None
        while response is None:
            await self._window.make_room()
            request, asked_s = self._next_request(with_tools=with_tools), _now_s()
            self._recoveries.tries.begin(request)
            try:
                responding = self._model.respond(request, self._hear)
                response = await run_bounded(
                    responding, self._scope.deadline.remaining_s, self._scope.ports.watchers.until_stopped()
                )
            except (TimeoutError, Interrupted) as over:
                await self._recoveries.write(abandoned=True)
                raise over if isinstance(over, Interrupted) else Interrupted(EndReason.TIMEOUT) from None
            except ModelFailure as failure:
                if not await self._mend(failure):
                    raise
            finally:
                self._scope.deadline.hold(False)
        await self._recoveries.write()
        self._window.note(self._recoveries.tries.asked, response)
        if response.tool_calls:
            self._discard_streamed()  # text beside a call is not part of the answer
        self._streamed.clear()
        used = self._used_ids() if response.tool_calls else frozenset()
        kept, took_s = at_most(response, TOLD_CALLS * self._scope.limits.max_calls), round(_now_s() - asked_s, 3)
        return with_own_ids(kept, self._scope.journal.steps, used, self._scope.turn.id, took_s)

    def _next_request(self, *, with_tools: bool) -> ModelRequest:
        """Build the next request and clear the streamed text."""
        self._streamed.clear()
        self._separator = answer_separator(self._scope.journal.events)
        self._executor.expect(self._scope.journal.steps if with_tools else None)
        tools: tuple[ToolSpec, ...] = self._specs() if with_tools else ()
        turn = self._scope.turn
        return ModelRequest(
            self._prompt,
            self._items(),
            tools,
            max_output_tokens=self._window.output_tokens(self._cap),
            retry_budget_s=self._retry_budget_s,
            context=self._context,
            pieces=turn.pieces,
            who=self._who(),
            estimated_tokens=self._window.asked_tokens if with_tools else None,
            weigh=self._weigh,
            load_pictures=self._scope.ports.journal.load_pictures,
        )

    def _who(self) -> Principal:
        """Return the turn's person, with the model that a tool has chosen for the rest of the turn, or the agent's."""
        principal = self._scope.turn.principal
        model = self._executor.tools.grant_of(self._scope.journal.events).model or self._model_name
        return principal if model is None else replace(principal, model=model)

    def streamed_text(self) -> str:
        """Return the text of a response that was cut short, joined to the earlier answer."""
        text = "".join(self._streamed)
        return self._separator + text if text.strip() else ""

    async def raise_cap(self, cut: ModelResponded) -> bool:
        """Discard a truncated response and raise the output cap for the same request; return False if that was tried
        before.
        """
        self._executor.expect(None)
        if self._has_taken(Fallback.CAP_RAISED) or self._scope.limits.raised_output_tokens <= self._cap:
            return False
        self._recoveries.discard(cut)
        self._recoveries.note(Fallback.CAP_RAISED)
        await self._recoveries.write()
        self._scope.ports.watchers.progress(TextDiscarded())
        return True

    async def discard(self, response: ModelResponded) -> None:
        """Discard a whole response and journal its cost."""
        self._executor.expect(None)
        self._recoveries.discard(response)
        await self._recoveries.write()
        self._scope.ports.watchers.progress(TextDiscarded())

    async def compact(self) -> None:
        """Condense the older part of the conversation before the model is asked again; done once a turn."""
        self._window.note_overflow(self._recoveries.tries.asked)
        self._recoveries.note(Fallback.COMPACTED)
        await self._window.compact()

    @property
    def _cap(self) -> int:
        """Return the output cap according to the turn's journal."""
        raised = self._has_taken(Fallback.CAP_RAISED) and not self._has_taken(Fallback.CAP_LOWERED)
        return self._scope.limits.raised_output_tokens if raised else self._scope.limits.max_output_tokens

    def _has_taken(self, fallback: Fallback) -> bool:
        return fallback in self._scope.journal.taken

    @property
    def asked(self) -> str:
        """Return the name of the model that was asked last (in a chain, the link); "" before the first call."""
        return self._recoveries.tries.asked

    async def _mend(self, failure: ModelFailure) -> bool:
        """Change the next request after a failure; return True if asking again is worthwhile. Each remedy is used once
        a turn.
        """
        mended = await self._apply_remedy(failure)
        await self._recoveries.write(abandoned=True)
        if mended:
            self._discard_streamed()
        return mended

    async def _apply_remedy(self, failure: ModelFailure) -> bool:
        if failure.kind is FailureKind.CONTEXT:
            return await self._send_less(LESS)
        if failure.kind is FailureKind.BAD_REQUEST and self._cap > self._scope.limits.max_output_tokens:
            self._recoveries.note(Fallback.CAP_LOWERED)  # the model's own cap is lower than the raised one
            return True
        return failure.kind is FailureKind.BAD_REQUEST and await self._send_less(FEWER_PICTURES)

    async def _send_less(self, fallbacks: Sequence[Fallback]) -> bool:
        """Shorten the next request by the first fallback that leaves something out; return False if none does."""
        sent = self._items()
        for fallback in fallbacks:
            if self._has_taken(fallback) or (fallback in FEWER_PICTURES and _after(fallback, sent) == sent):
                continue
            if fallback is Fallback.COMPACTED:
                await self.compact()
            elif fallback is not Fallback.STEPS_NOTED or await self._window.note_steps():
                self._recoveries.note(fallback)
            await self._recoveries.write()
            if self._items() != sent:
                return True
        return False

    def _discard_streamed(self) -> None:
        """Tell watchers that the streamed text of this response is discarded."""
        if self._streamed:
            self._scope.ports.watchers.progress(TextDiscarded())
        self._streamed.clear()

    def _hear(self, event: ModelEvent) -> None:
        self._recoveries.hear(event)
        match event:
            case TextDelta():
                if self._separator and not self._streamed:
                    self._scope.ports.watchers.progress(TextDelta(self._separator))
                self._streamed.append(event.text)
            case Alive() | Pinged() | Recovering():
                return
            case ModelAtWork():
                self._scope.deadline.hold(event.on)
                return
            case TextDiscarded():
                self._streamed.clear()
                self._executor.expect_again()
            case CallStreamed():
                self._executor.hear(event.index, event.call)
            case RetryPause():
                self._retry_budget_s = max(0.0, self._retry_budget_s - event.seconds)
        self._scope.ports.watchers.progress(event)

    def _specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools that are always offered, and those that this conversation has looked up."""
        box = self._executor.tools
        return box.specs_with(box.names_loaded((*self._window.history, *self._scope.journal.items)))

    def _items(self) -> list[Item]:
        items = self._window.items(with_history=not self._has_taken(Fallback.HISTORY_DROPPED))
        for fallback in (Fallback.RESULTS_DROPPED, *FEWER_PICTURES):
            items = _after(fallback, items) if self._has_taken(fallback) else items
        return items

    def _used_ids(self) -> set[str]:
        items = (*self._window.history, *self._scope.journal.items)
        return {call.id for item in items if isinstance(item, AssistantItem) for call in item.tool_calls}


def _after(fallback: Fallback, items: list[Item]) -> list[Item]:
    """Return the items to send after this fallback."""
    match fallback:
        case Fallback.RESULTS_DROPPED:
            return blank_old_results(items, SLIM_RESULTS)
        case Fallback.PICTURES_DROPPED:
            return keep_newest_pictures(items)
        case Fallback.PICTURES_STRIPPED:
            return without_pictures(items, Unseen.REFUSED)
        case _:
            return items


def _weight_of(turn: Turn) -> float | None:
    """Return the score of the turn's first message, so that all its steps go to one model."""
    started = next((event for event in turn.events if isinstance(event, TurnStarted)), None)
    return None if started is None else score(features_of(turn.history, started.items))


def _now_s() -> float:
    return asyncio.get_running_loop().time()


class Recoveries:
    """The recoveries and discarded responses of one turn's model calls, until they are journaled."""

    def __init__(self, journal: Journal, model: ChatModel) -> None:
        self._journal = journal
        self.tries = Tries(model)
        self._waiting: list[Recovered | ResponseDiscarded] = []

    def hear(self, event: ModelEvent) -> None:
        """Record an event of the model."""
        cost = self.tries.hear(event)
        if isinstance(event, Recovering):
            self._discard_uncounted(cost)
            self._waiting.append(Recovered(self._journal.steps, event.fallback, event.detail, event.why))

    def abandon(self) -> None:
        """Discard the current attempt; its cost counts if any of a response arrived."""
        self._discard_uncounted(self.tries.abandon())

    def discard(self, response: ModelResponded) -> None:
        """Discard a whole response; its cost counts."""
        if response.usage.input_tokens is not None or response.usage.output_tokens is not None:
            self._discard(response.model, response.usage, estimated=False)
        else:
            self._discard_uncounted(self.tries.estimate(said_chars(response), response.model))

    def note(self, fallback: Fallback, detail: str = "") -> None:
        """Journal, with the next write, that the turn takes this fallback."""
        self._waiting.append(Recovered(self._journal.steps, fallback, detail))

    async def write(self, *, abandoned: bool = False) -> None:
        """Journal the collected events, if any, in one commit; with `abandoned`, discard the current attempt first."""
        if abandoned:
            self.abandon()
        if self._waiting:
            events, self._waiting = self._waiting, []
            await self._journal.record(*events)

    def _discard_uncounted(self, cost: TryCost | None) -> None:
        if cost is not None:
            self._discard(*cost, estimated=True)

    def _discard(self, model: str, used: Usage, *, estimated: bool) -> None:
        behind = sum(isinstance(event, ResponseDiscarded) for event in self._waiting)
        self._waiting.append(self._journal.as_discarded(model, used, estimated=estimated, behind=behind))
