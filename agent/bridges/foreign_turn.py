"""A turn that an agent of another framework answers: journal, live answer, approvals, steering, stops and deadline.

The journal is the only state, as in `agent.loop`: a run that died is begun again from what is journaled, and calls of
which it is unknown if they ran are told to the agent as such.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from io import StringIO

import structlog
from pydantic import JsonValue

from agent.bounded import Interrupted, beside, run_bounded
from agent.bridges.port import Exchange, ForeignAgent, ForeignEvent, NeedsApproval, Responded, Returned
from agent.consent import AskedCall, Consent, Parked
from agent.definition import Agent
from agent.end_texts import agent_failure_text
from agent.errors import FailureKind
from agent.foreign_code import contain_exits
from agent.journal import open_calls
from agent.models.picture_fit import show_pictures
from agent.pictures import Unseen, without_pictures
from agent.ports import ModelFailure, TextDelta, TextDiscarded, Turn, TurnPorts
from agent.tools.results import failure_result, success_result
from agent.transcript import (
    SKIPPED,
    CallOutcome,
    EndReason,
    Item,
    ModelResponded,
    NoteItem,
    ToolIntended,
    ToolItem,
    ToolReturned,
    TurnEnded,
    UserItem,
    answer_separator,
    answer_text,
)
from agent.turn import TurnScope
from agent.turn_ending import TurnEnding
from agent.turn_progress import ToolEnded, ToolStarted
from agent.wellformed import read_object, well_formed

log = structlog.get_logger()

MOST_WAITING = 256
"""Events that an agent may be ahead of the turn."""

Call = tuple[ModelResponded, int]
"""A call: its response and its place among the response's calls."""

SKIPPED_RESULT = failure_result(SKIPPED)
LOST = "Outcome unknown: the process died while this ran. Look before you call it again."
REFUSED = {
    Consent.DENIED: ("The person did not allow it.", CallOutcome.DENIED),
    Consent.EXPIRED: ("The person was asked and did not answer in time.", CallOutcome.EXPIRED),
}


async def run_foreign_turn(turn: Turn, ports: TurnPorts, agent: Agent, foreign: ForeignAgent) -> EndReason:
    """Run the turn to its end, from wherever its journal is, and return how it ended.

    Raises:
        TurnParked: the turn waits for its person; it is resumed later.
        Fenced: another process owns the session; nothing more was written.
    """
    run = ForeignTurn(TurnScope.begin(turn, ports, agent.limits, agent.clock), agent, foreign)
    if isinstance(last := run.scope.journal.last, TurnEnded):
        return last.reason
    ended = None
    try:
        while ended is None:
            ended = await run.step()
    except Interrupted as stop:
        return await run.end(stop.reason, run.said_so_far()) or stop.reason
    except ModelFailure as failure:
        return await run.end_failed(failure, run.said_so_far(), foreign.name) or EndReason.MODEL_ERROR
    return ended


@dataclass(frozen=True, slots=True)
class ForeignTurn(TurnEnding):
    """A running turn, its foreign agent, and the text that was shown of its current response."""

    foreign: ForeignAgent
    _shown: StringIO = field(default_factory=StringIO)
    _asked: dict[str, NeedsApproval] = field(default_factory=dict)  # in this process, by call id

    async def step(self) -> EndReason | None:
        """Run the agent until it answers or is to hear new messages; return how the turn ended, or None to continue."""
        journal = self.scope.journal
        self._check()
        if not self.foreign.keeps_state:
            await self._settle_lost_calls()
        await journal.steer([self._to_result(*call, SKIPPED_RESULT, CallOutcome.SKIPPED) for call in self._waiting()])
        response = journal.unfinished or await self._run_agent(await self._consents(self._waiting()))
        if response is None:
            return None
        if not self._steering_waits():
            ended = await self.end(EndReason.COMPLETED, self.answer(response), response)
            if ended is not None:
                return ended
        if journal.last is not response:
            await journal.record(response)
        return None

    def failure_note(self, failure: ModelFailure) -> str:
        return agent_failure_text(self.agent.texts, failure, self.scope.turn.principal.locale)

    def said_so_far(self) -> str:
        """Return the turn's answer so far, with the text of a response that was cut short."""
        events, shown = self.scope.journal.events, self._shown.getvalue()
        return answer_text(events) + (answer_separator(events) + shown if shown.strip() else "")

    # ---------------------------------------------------------------- calls of earlier runs

    async def _settle_lost_calls(self) -> None:
        """Give calls that had begun when the process died their result: that it is unknown."""
        waiting = self._waiting()
        lost = [call for call in self._open() if call not in waiting]
        if lost:
            result = failure_result(LOST)
            await self.scope.journal.record(*(self._to_result(*call, result, CallOutcome.UNKNOWN) for call in lost))

    def _waiting(self) -> list[Call]:
        """Return the open calls that wait for approval: they were asked about after they last began."""
        waits: dict[str, bool] = {}
        for event in self.scope.journal.events:
            if isinstance(event, Parked):
                waits[event.about] = True
            elif isinstance(event, ToolIntended):
                waits[event.call_key] = False
        return [call for call in self._open() if waits.get(self._key(*call))]

    async def _consents(self, asked: Sequence[Call]) -> dict[str, bool]:
        """Return the person's answers about these calls, by call id; those that are allowed begin now.

        Raises:
            TurnParked: the person is asked about the first without an answer.
        """
        answers = [await self._ask(response, index) for response, index in asked]
        settled: list[ToolIntended | ToolReturned] = []
        for (response, index), answer in zip(asked, answers, strict=True):
            if answer in REFUSED:
                words, outcome = REFUSED[answer]
                settled.append(self._to_result(response, index, failure_result(words), outcome))
            else:
                settled.append(self._to_intent(response, index))
        if settled:
            await self.scope.journal.record(*settled)
        return {
            response.tool_calls[index].id: answer not in REFUSED
            for (response, index), answer in zip(asked, answers, strict=True)
        }

    async def _ask(self, response: ModelResponded, index: int) -> Consent:
        """Return the person's answer about a call.

        Raises:
            TurnParked: they are asked now.
        """
        consents, call = self.scope.ports.consents, response.tool_calls[index]
        asked = self._asked.get(call.id) or NeedsApproval(call.id)
        ask = AskedCall(
            call_key=self._key(response, index),
            step=response.step,
            tool=call.name,
            arguments=_sort_arguments(call.arguments),
            question=asked.question,
            may_remember=asked.may_remember,
        )
        said = await consents.consent(ask)
        return await consents.park(ask, self.scope.deadline.remaining_s()) if said is None else said

    # ---------------------------------------------------------------- one run of the agent

    async def _run_agent(self, consents: dict[str, bool]) -> ModelResponded | None:
        """Run the agent to its answer; return None if the person's new messages ended the run."""
        outcome = await self._exchange(consents)
        while isinstance(outcome, list):
            left_s = self.scope.deadline.remaining_s()
            asked = [(response.step, self._key(response, at), response.tool_calls[at].name) for response, at in outcome]
            await self.scope.journal.record(*(Parked(step, key, tool, "", left_s) for step, key, tool in asked))
            outcome = await self._exchange(await self._consents(outcome))
        return outcome

    async def _exchange(self, consents: dict[str, bool]) -> ModelResponded | list[Call] | None:
        """Run the agent once; return its answer, the calls that need approval, or None as `_run_agent` does."""
        queue: asyncio.Queue[ForeignEvent | Exception | None] = asyncio.Queue(MOST_WAITING)
        asked: list[Call] = []
        self._forget_shown()
        async with beside(_pump(self.foreign, await self._make_exchange(consents), queue)):
            while (event := await self._next(queue)) is not None:
                match event:
                    case TextDelta():
                        self._show(event.text)
                    case TextDiscarded():
                        self._discard()
                    case Responded(calls=()):
                        if not event.text.strip() and not self.scope.journal.steps:
                            raise ModelFailure(FailureKind.SERVER, "it answered nothing")
                        return self._to_response(event)
                    case Responded():
                        await self._record_calls(event)
                    case Returned():
                        await self._record_result(event)
                        if self.foreign.steers and not self._open() and self._steering_waits():
                            return None
                    case NeedsApproval():
                        if (call := self._find(event.call_id)) is None:
                            raise ModelFailure(FailureKind.SERVER, "it asks about a call that it did not make")
                        asked.append(call)
                        self._asked[event.call_id] = event
                    case error:
                        raise self._failure(error)
                queue.task_done()
        if not asked:
            raise ModelFailure(FailureKind.SERVER, "it ended without an answer")
        return asked

    async def _make_exchange(self, consents: dict[str, bool]) -> Exchange:
        scope, turn = self.scope, self.scope.turn
        items: list[Item] = [*turn.history, *scope.journal.items]
        pictures: Mapping[str, bytes] = {}
        if scope.limits.sees_images:
            items, pictures = await show_pictures(items, scope.ports.journal.load_pictures)
        else:
            items = without_pictures(items, Unseen.BLIND)
        said = [item for item in items[len(turn.history) :] if isinstance(item, UserItem)]
        if turn.summary is not None and turn.summary.notes:
            items.insert(0, NoteItem(f"Before this conversation: {turn.summary.notes}", ends_turn=True))
        if consents:  # the transcript fills in a result for each call
            items = [item for item in items if not (isinstance(item, ToolItem) and item.call_id in consents)]
        return Exchange(
            turn=turn.id,
            conversation=turn.conversation,
            principal=turn.principal,
            items=items,
            said=said,
            consents=consents,
            hints=turn.hints,
            memory=turn.memory,
            pictures=pictures,
        )

    async def _next(self, queue: "asyncio.Queue[ForeignEvent | Exception | None]") -> ForeignEvent | Exception | None:
        """Return the next event; None at the end of the run.

        Raises:
            Interrupted: the turn was stopped, or its time is over.
        """
        if not queue.empty():
            return queue.get_nowait()
        await self.scope.ports.watchers.let_watchers_read()
        try:
            stop = self.scope.ports.watchers.until_stopped()
            return await run_bounded(queue.get(), self.scope.deadline.remaining_s, stop)
        except TimeoutError:
            raise Interrupted(EndReason.TIMEOUT) from None

    def _show(self, text: str) -> None:
        watchers, text = self.scope.ports.watchers, well_formed(text)
        if not self._shown.tell() and (separator := answer_separator(self.scope.journal.events)):
            watchers.progress(TextDelta(separator))
        self._shown.write(text)
        if self._shown.tell() > self.scope.limits.max_answer_chars:
            raise Interrupted(EndReason.MAX_TOKENS)
        watchers.progress(TextDelta(text))

    def _discard(self) -> None:
        if self._shown.tell():
            self.scope.ports.watchers.progress(TextDiscarded())
            self._forget_shown()

    def _forget_shown(self) -> None:
        self._shown.seek(0)
        self._shown.truncate()

    def _to_response(self, event: Responded) -> ModelResponded:
        kept: JsonValue = {"bridge": self.foreign.name, "state": event.state}
        state = () if event.state is None else (kept,)
        usage, text = event.usage, well_formed(event.text)
        return ModelResponded(
            self.scope.journal.steps, text, event.calls, state, usage=usage, model=event.model or self.foreign.name
        )

    async def _record_calls(self, event: Responded) -> None:
        """Journal a response with calls, and that they begin."""
        self._check()
        if self.scope.journal.steps >= self.scope.limits.max_steps:
            raise Interrupted(EndReason.MAX_STEPS)
        if len(event.calls) > self.scope.limits.max_calls:
            raise ModelFailure(FailureKind.SERVER, f"it made {len(event.calls)} calls at once")
        self._discard()  # text beside a call is not part of the answer
        response = self._to_response(event)
        await self.scope.journal.record(response, *(self._to_intent(response, at) for at in range(len(event.calls))))
        for at, call in enumerate(event.calls):
            self.scope.ports.watchers.progress(ToolStarted(call.name, self._key(response, at), call.arguments))

    async def _record_result(self, event: Returned) -> None:
        """Journal the first result of a call; others, and those of unknown calls, are dropped."""
        if (found := self._find(event.call_id)) is None:
            return
        content = failure_result(str(event.result)) if event.failed else success_result(event.result)
        outcome = CallOutcome.FAILED if event.failed else CallOutcome.DONE
        scrubbed = self.scope.ports.journal.scrub(content)
        returned = self._to_result(*found, scrubbed, outcome)
        await self.scope.journal.record(returned)
        self.scope.ports.watchers.progress(ToolEnded(returned.name, outcome, returned.call_key, scrubbed))

    def _find(self, call_id: str) -> Call | None:
        """Return an open call by its id; None if there is none."""
        return next((call for call in self._open() if call[0].tool_calls[call[1]].id == call_id), None)

    def _open(self) -> Sequence[Call]:
        return open_calls(self.scope.journal.events)

    def _steering_waits(self) -> bool:
        return self.scope.ports.journal.steering_waits()

    def _key(self, response: ModelResponded, index: int) -> str:
        return self.scope.journal.call_key(response.step, index)

    def _to_intent(self, response: ModelResponded, index: int) -> ToolIntended:
        call = response.tool_calls[index]
        return ToolIntended(response.step, self._key(response, index), call.name, call.arguments)

    def _to_result(self, response: ModelResponded, index: int, content: str, outcome: CallOutcome) -> ToolReturned:
        call, key = response.tool_calls[index], self._key(response, index)
        return ToolReturned(response.step, key, call.id, call.name, content, outcome)

    def _failure(self, error: Exception) -> ModelFailure:
        if isinstance(error, ModelFailure):
            return error
        words = self.scope.ports.journal.scrub(f"{type(error).__name__}: {error}".splitlines()[0])
        log.error("foreign_agent_failed", agent=self.foreign.name, exc_info=error)
        return ModelFailure(FailureKind.SERVER, words)

    def _check(self) -> None:
        """Raise Interrupted if the turn should end now."""
        if (reason := self.scope.ports.watchers.stopping()) is not None:
            raise Interrupted(reason)
        if self.scope.deadline.remaining_s() <= 0:
            raise Interrupted(EndReason.TIMEOUT)


async def _pump(
    foreign: ForeignAgent, asked: Exchange, queue: "asyncio.Queue[ForeignEvent | Exception | None]"
) -> None:
    """Put an agent's events into the queue; after a step wait until it is journaled."""
    try:
        with contain_exits():
            async with aclosing(foreign.run(asked)) as run:
                async for event in run:
                    await queue.put(event)
                    if not isinstance(event, TextDelta):
                        await queue.join()
        await queue.put(None)
    except Exception as error:  # noqa: BLE001  anything that the agent's own code raises
        await queue.put(error)


def _sort_arguments(arguments: str) -> str:
    """Return the JSON of a call's arguments with sorted keys; as it is if it is no object."""
    found = read_object(arguments)
    return arguments if found is None else json.dumps(found, sort_keys=True, ensure_ascii=False)
