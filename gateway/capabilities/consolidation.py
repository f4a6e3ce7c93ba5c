"""Consolidation: after a conversation has ended, a model writes its abstract and notes facts about its person.

It works in the background, in each process on the conversations of its shards, one passage after the other. A passage
is kept in one commit, see `gateway.store.consolidation`; whatever dies before is begun again, and happens once.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

import structlog

from agent.budgets import OverBudget
from agent.errors import FailureKind, Fenced
from agent.memory.consolidation import (
    BrokenFindings,
    entities_of,
    memories_of,
    read_findings,
    show_record,
    statements_of,
    to_request,
)
from agent.memory.consolidation_config import ConsolidationConfig
from agent.memory.facts import Fact
from agent.ports import ChatModel, ModelEvent, ModelFailure, Principal
from agent.transcript import ModelResponded
from channels.chat.probing import Finding
from gateway.capabilities.base import Capability, CapabilityDeps
from gateway.capabilities.memory import owner_of
from gateway.commands.usage import usd_text
from gateway.sessions.budgets import CONSOLIDATION
from gateway.store import consolidation as rows
from gateway.store.consolidation import EndedConversation, Passage, PassageResult
from gateway.store.consolidation_log import PassageOutcome, count_since
from gateway.store.engine import Connection

log = structlog.get_logger()

LOOK_S = 15.0
"""Seconds between two looks for conversations that have ended, at most."""

LOOKS_BACK = timedelta(days=7)
"""Age of a conversation's last turn up to which it is consolidated, if that was not possible before."""

WHOLE_LOOK = timedelta(minutes=10)
"""Time between two looks at all of `LOOKS_BACK`; those between look at what has ended since."""

LATE = timedelta(minutes=1)
"""Time after its end by which a turn is committed; a later one is met by the next look at all."""

AT_ONCE = 200
ANSWER_S = 120.0
FIRST_REST, LONGEST_REST = timedelta(minutes=1), timedelta(hours=1)
"""Time without a call after a model has failed, at first and at most."""

SHOWN_FACTS = 30
SHOWN_ABSTRACTS = 5
"""Facts and abstracts in a prompt."""

NO_MODEL = "the agent has no model, so no conversation is consolidated"


class ConsolidationCapability(Capability):
    """The consolidation of one tenant's conversations."""

    def __init__(self, config: ConsolidationConfig, deps: CapabilityDeps, product: str, model_name: str) -> None:
        self._config = config
        self._deps = deps
        self._store = deps.store
        self._now = deps.clocks.now
        self._product = product
        self._model_name = model_name
        self._since: datetime | None = None  # conversations that ended earlier are done; None: look at all
        self._whole_at: datetime | None = None
        self._failures = 0
        self._rests_until: datetime | None = None
        self._why = ""  # it does not work now; "": it does
        self._done = ""

    async def run(self, changed: Callable[[], None]) -> None:
        """Look for work until cancelled."""
        while True:
            if self._deps.consolidating.model is not None:
                await self.look()
            await asyncio.sleep(min(LOOK_S, self._config.quiet_s, self._config.dream_s))

    def states(self) -> Mapping[str, str]:
        if self._deps.consolidating.model is None:
            return {CONSOLIDATION: NO_MODEL}
        return {CONSOLIDATION: "; ".join(filter(None, (self._why, self._done))) or "nothing today yet"}

    async def read_memory(self, principal: Principal) -> str:
        """Return facts about the person and the abstracts of their last conversations; nothing in a group."""
        if principal.in_group:
            return ""
        owner = owner_of(principal, self._product)

        def look(connection: Connection) -> tuple[list[Fact], list[rows.Abstract]]:
            known = [row.fact for row in rows.list_facts(connection, owner) if row.valid_to is None]
            return known[:SHOWN_FACTS], rows.list_abstracts(connection, owner, SHOWN_ABSTRACTS)

        facts, abstracts = await self._store.read(look, lasting=True)
        return show_record(facts, [(each.at, each.text) for each in abstracts])

    async def check(self) -> Sequence[Finding]:
        if self._model_name != "offline":
            most = f"at most {self._config.usd_per_day} USD a day"
            return (Finding(CONSOLIDATION, f"conversations are consolidated after {self._config.quiet_s:g} s, {most}"),)
        return (Finding(CONSOLIDATION, NO_MODEL, "set a model, or remove [memory.consolidation]"),)

    # ---------------------------------------------------------------- the work

    async def look(self) -> None:
        """Consolidate the conversations that have ended, then score and merge the facts of people."""
        now = self._now()
        if self._rests_until is None or not timedelta() < self._rests_until - now <= LONGEST_REST:
            try:
                await self._consolidate_ended(now)
                self._rests_until, self._why = None, ""
            except OverBudget as over:
                left = LONGEST_REST if over.resets_at is None else over.resets_at - self._deps.clocks.dates()
                words = f"stopped until {over.resets_at:%Y-%m-%d %H:%M} UTC"
                self._rest(f"{words}: its {self._config.usd_per_day} USD of today are used", left)
            except ModelFailure as failure:
                self._rest(f"its model failed: {failure}", FIRST_REST * 2**self._failures)
                self._failures = min(self._failures + 1, 10)
        await self._dream(now)
        self._done = await self._store.read(partial(_sum_up, since=now - timedelta(days=1)), lasting=True)

    def _rest(self, why: str, rest: timedelta) -> None:
        """Ask no model for a while, and look at everything then."""
        rest = max(FIRST_REST, min(rest, LONGEST_REST))
        self._since, self._why, self._rests_until = None, why, self._now() + rest
        log.warning("consolidation_rests", why=why, minutes=rest / timedelta(minutes=1))

    async def _consolidate_ended(self, now: datetime) -> None:
        """Consolidate page by page; a conversation that is not done is met again by the next look at all."""
        quiet_since = now - timedelta(seconds=self._config.quiet_s)
        if self._since is None or self._whole_at is None or not timedelta() <= now - self._whole_at < WHOLE_LOOK:
            self._since, self._whole_at = now - LOOKS_BACK, now
        since = self._since
        while True:
            find = partial(rows.find_ended, since=since, quiet_since=quiet_since, now=now, limit=AT_ONCE)
            page = await self._store.read(find, lasting=True)
            for ended in page:
                await self._consolidate(ended)
            if len(page) < AT_ONCE or page[-1].ended_at <= since:
                break
            since = page[-1].ended_at
        self._since = quiet_since - LATE

    async def _consolidate(self, ended: EndedConversation) -> None:
        """Consolidate a conversation of this process, a passage after the other."""
        fence = self._deps.ownership.fence_of(ended.key)
        while self._deps.ownership.stands(fence):
            read = partial(rows.read_passage, tenant=self._store.home_tenant, ended=ended)
            passage = await self._store.read(read, lasting=True)
            if passage is None:
                return
            result = await self._ask(passage)
            try:
                kept = await self._store.commit(rows.keep, fence, passage, result, self._now())
            except Fenced:
                await self._note_costs(result.spent)
                return
            log.info(
                "conversation_consolidated",
                session=passage.session_id,
                outcome=result.outcome,
                messages=len(passage.said),
                facts=len(result.statements),
                memories=len(result.memories),
                kept=kept,
            )
            if not kept or result.outcome is PassageOutcome.GIVEN_UP:
                return

    async def _ask(self, passage: Passage) -> PassageResult:
        """Return what the model makes of a passage; a broken answer is asked for once more.

        Raises:
            OverBudget: there is no room for the call today.
            ModelFailure: there is no answer.
        """
        if not passage.said:
            return PassageResult(PassageOutcome.SILENT)
        if (model := self._deps.consolidating.model) is None:
            raise ModelFailure(FailureKind.BAD_REQUEST, NO_MODEL)  # since a reload
        spent: list[ModelResponded] = []
        wrong = ""
        try:
            for _ in range(2):
                response = await _respond(model, passage, wrong)
                spent.append(response)
                self._failures = 0
                try:
                    findings = read_findings(response.text)
                except BrokenFindings as broken:
                    wrong = str(broken)
                    log.warning("consolidation_refused", session=passage.session_id, why=wrong)
                    continue
                statements = statements_of(findings, passage.said, passage.known.facts)
                entities = entities_of(findings, statements)
                memories = memories_of(findings, passage.said, passage.source)
                return PassageResult(PassageOutcome.DONE, findings.abstract, statements, entities, memories, spent)
        except ModelFailure as failure:
            if failure.kind not in {FailureKind.CONTEXT, FailureKind.BAD_REQUEST}:
                await self._note_costs(spent)
                raise
            log.warning("consolidation_refused", session=passage.session_id, why=str(failure))
        except OverBudget:
            await self._note_costs(spent)
            raise
        outcome = PassageOutcome.SKIPPED if passage.tries else PassageOutcome.GIVEN_UP
        return PassageResult(outcome, spent=spent)

    async def _note_costs(self, spent: Sequence[ModelResponded]) -> None:
        if spent:
            await self._store.commit(rows.note_costs, self._store.home_tenant, spent, self._now())

    async def _dream(self, now: datetime) -> None:
        before = now - timedelta(seconds=self._config.dream_s)
        for wanted in await self._store.read(partial(rows.find_dreams, before=before, now=now), lasting=True):
            fence = self._deps.ownership.fence_of(wanted.session_key)
            if not self._deps.ownership.stands(fence):
                continue
            try:
                await self._store.commit(rows.dream_of, fence, wanted, now)
            except Fenced:
                log.info("dream_left", session=wanted.session_key)


async def _respond(model: ChatModel, passage: Passage, wrong: str) -> ModelResponded:
    try:
        async with asyncio.timeout(ANSWER_S):
            return await model.respond(to_request(passage.said, passage.known, wrong), _heed_nothing)
    except TimeoutError:
        raise ModelFailure(FailureKind.TIMEOUT, f"no answer in {ANSWER_S:g} s", retryable=True) from None


def _heed_nothing(_event: ModelEvent) -> None:
    pass


def _sum_up(connection: Connection, since: datetime) -> str:
    """Return the work since then in words; "" if there was none."""
    counts, microusd = count_since(connection, since)
    if not counts:
        return ""
    told = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in sorted(counts.items()))
    return f"in 24 h: {told}, {usd_text(microusd)} USD"
