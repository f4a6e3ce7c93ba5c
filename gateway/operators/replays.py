"""Actions on one recorded turn: show its steps, run it again."""

from agent.replay.steps import compare, diff_lines, steps_of
from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, OperationRefused, action
from gateway.operators.base import OperatorsBase
from gateway.operators.conversations import to_turn_line
from gateway.operators.models import TraceQuery, TurnLine
from gateway.operators.replay_models import Replay, ReplayWish, ShownTurn, TurnQuery
from gateway.operators.tracing import trace_person
from gateway.safety.names import short, shown_name
from gateway.store import people, recorded
from gateway.store.engine import Connection
from gateway.store.heads import is_id_end
from gateway.store.recorded import StoredTurn
from gateway.store.tenancy import whose_rows
from gateway.store.timeline import turns_by_id

MOST_MESSAGES = 20
"""Messages of a person among which their last turn is looked for."""


class ReplayActions(OperatorsBase):
    """The actions on recorded turns of one tenant; of the default tenant if the store is the whole."""

    @action(Rank.MACHINE)
    async def show_turn(self, call: ActionCall, which: str, wanted: TurnQuery) -> ShownTurn:
        """Return a turn with its steps. The end of its id is enough, or its person and a time.

        Raises:
            OperationRefused: no turn fits, or several do.
        """
        turn, line = await self._find(call, which, wanted)
        run = steps_of(turn.row.id, turn.events)
        return ShownTurn(turn=line, session=turn.row.session_id, agent=turn.agent, run=run)

    @action(Rank.MACHINE, audit="turn_replayed")
    async def replay_turn(self, call: ActionCall, which: str, wish: ReplayWish) -> Replay:
        """Run a turn again on its recorded results, without effects, and compare the two.

        Raises:
            OperationRefused: no turn fits, or several do.
            GatewayError: it cannot run again, or its model did not answer.
        """
        await call.check()
        turn, line = await self._find(call, which, wish)
        detail = ", ".join(filter(None, (wish.model, wish.agent, wish.prompt and "another prompt")))
        await call.commit(lambda connection: call.record(connection, turn.row.tenant, turn.row.id, detail))
        again = await self.process.replay(turn, wish)
        before = steps_of(turn.row.id, turn.events)
        return Replay(
            turn=line,
            session=turn.row.session_id,
            agent=again.agent,
            model=again.model,
            notes=again.notes,
            recorded=before.figures,
            replayed=again.run.figures,
            steps=compare(before, again.run),
            answer=diff_lines(before.figures.answer.splitlines(), again.run.figures.answer.splitlines()),
        )

    async def _find(self, call: ActionCall, which: str, wanted: TurnQuery) -> tuple[StoredTurn, TurnLine]:
        def read(connection: Connection) -> tuple[StoredTurn, TurnLine]:
            turn_id = _resolve(connection, call, which.strip(), wanted)
            turn = recorded.read_turn(connection, turn_id)
            if turn is None:
                raise _no_turn(which)
            (head,) = turns_by_id(connection, whose_rows(), [turn_id])
            names = people.names_of(connection, {head.user_id})
            return turn, to_turn_line(head, {user_id: shown_name(name) for user_id, name in names.items()})

        return await self.store.read(read)


def _resolve(connection: Connection, call: ActionCall, which: str, wanted: TurnQuery) -> str:
    """Return the id of the turn that an id, its end, or a person and a time name."""
    found = recorded.find_turns(connection, whose_rows(), which.lower()) if wanted.at is None else []
    if len(found) == 1:
        return found[0]
    if found:
        raise OperationRefused(f"several turns have an id that ends in {which}: give more of it")
    try:
        trace = trace_person(connection, TraceQuery(who=which, at=wanted.at, count=MOST_MESSAGES), call.now)
    except OperationRefused as refused:
        raise (_no_turn(which) if is_id_end(which.lower()) else refused) from None
    turns = {message.turn: message.at for message in trace.messages if message.turn is not None}
    if not turns or not trace.near:
        raise OperationRefused("this person has no turn then that is still kept: `tenk trace` lists their messages")
    if wanted.at is not None and len(turns) > 1:
        several = ", ".join(f"{short(turn)} ({at:%H:%M:%S})" for turn, at in turns.items())
        raise OperationRefused(f"several turns fit; name one by its id: {several}")
    return [*turns][-1]


def _no_turn(which: str) -> OperationRefused:
    return OperationRefused(
        f"no turn {which} is kept: it was deleted, or never was. `tenk trace` and `tenk sessions show` name turns"
    )
