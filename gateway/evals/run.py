"""Runs of cases, each in a gateway of its own in this process, with an empty store."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agent.calendar import zone_of
from agent.evals.case import Case, CaseRules
from agent.evals.case_file import CaseFile
from agent.evals.fixtures import FixtureResults, on_fixtures
from agent.evals.judge import judge
from agent.evals.rules import Observed, ObservedCall, flaws_of, together
from agent.plain_errors import hint_at
from agent.ports import ChatModel
from agent.replay.steps import steps_of
from agent.tools.toolbox import READ_RESULT, TOOL_SEARCH
from agent.transcript import TurnEnded
from channels.base import NotPersisted
from channels.clocks import Clocks, wall_now
from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.messages import DEFAULT_TENANT
from gateway.app import Gateway
from gateway.config.settings import Settings
from gateway.errors import GatewayError
from gateway.evals.surroundings import UnusableCase, settings_of_case
from gateway.http.api.conversations import Asked, Conversations
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.turns import TurnAnswer
from gateway.store.api_turns import AskedTurn
from gateway.store.engine import Store
from gateway.tenant import Tenant

START_S = 60.0
"""Seconds for a gateway to start and for its MCP servers to connect."""

TURN_S = 600.0
"""Seconds for one turn of a case without `max_seconds`."""

POLL_S = 0.01
CONNECTING = frozenset({"pending", "connecting"})
"""States of capabilities that may soon have more tools."""


@dataclass(frozen=True, slots=True)
class CaseTurn:
    """One message of a case and what came of it."""

    text: str
    seen: Observed
    flaws: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaseRun:
    """One run of a case."""

    turns: tuple[CaseTurn, ...]
    flaws: tuple[str, ...]  # of the case as a whole, without those of its turns
    judged: str = ""  # the reason of the judge; "": none was asked
    judge_microusd: int | None = 0  # None: the judge's price is unknown

    @property
    def all_flaws(self) -> tuple[str, ...]:
        """Return why the run failed, a sentence each; none if it passed."""
        of_turns = [f"turn {number}: {flaw}" for number, turn in enumerate(self.turns, 1) for flaw in turn.flaws]
        return (*of_turns, *self.flaws)

    @property
    def seen(self) -> Observed:
        """Return all turns as one."""
        return together([turn.seen for turn in self.turns])

    @property
    def cost_microusd(self) -> int | None:
        """Return what the run cost with its judge; None if a price is unknown."""
        parts = (self.seen.cost_microusd, self.judge_microusd)
        return None if None in parts else sum(filter(None, parts))


class CaseClock:
    """The dates of a case: they stand still at the time of its message; the machine's if it has no date."""

    def __init__(self, case: Case, timezone: str | None) -> None:
        self._zone = zone_of(timezone or "UTC")
        self._at: datetime | None = None
        self.set(case.date)

    def set(self, at: datetime | None) -> None:
        """Show this time from now on; None changes nothing."""
        if at is not None:
            self._at = (at if at.tzinfo is not None else at.replace(tzinfo=self._zone)).astimezone(UTC)

    def __call__(self) -> datetime:
        return self._at or wall_now()


async def run_case(found: CaseFile, settings: Settings, judging: ChatModel | None) -> CaseRun:
    """Run a case once and check its rules.

    Raises:
        GatewayError: the case cannot run; the message says why.
    """
    if found.case.judge is not None and judging is None:
        why = "rules answer here, and a judge is a model: set model.light, or model.name"
        raise UnusableCase(f"{found.place('judge')}: judge: {why}")
    with tempfile.TemporaryDirectory(prefix="tenk-eval-") as home:
        own = settings_of_case(found, settings, Path(home))
        clock = CaseClock(found.case, settings.gateway.timezone)
        async with run_gateway(own, Clocks(dates=clock)) as tenant:
            results = FixtureResults(found.case.fixtures)
            check_tools(found, tenant)
            tenant.sessions.in_force.reshape(lambda agent: on_fixtures(agent, results, found.case.prompt))
            turns = await CaseConversation(found.case, tenant, clock, results).hold()
    return await _rate(found.case, turns, tenant, judging)


async def _rate(case: Case, turns: tuple[CaseTurn, ...], tenant: Tenant, judging: ChatModel | None) -> CaseRun:
    """Check the rules for all turns, and ask the judge."""
    flaws = list(flaws_of(case.rules, together([turn.seen for turn in turns]), _language_of(tenant)))
    if len(turns) < len(case.messages):
        flaws.append(f"only {len(turns)} of {len(case.messages)} messages were said")
    if case.judge is None or judging is None:
        return CaseRun(turns, tuple(flaws))
    judged = await judge(judging, case.judge, [(turn.text, turn.seen.answer) for turn in turns])
    if judged.is_yes is None:
        flaws.append(f"judge: {judged.reason}")
    elif not judged.is_yes:
        flaws.append(f"judge: no: {judged.reason}")
    return CaseRun(turns, tuple(flaws), judged.reason, judged.cost_microusd)


@asynccontextmanager
async def run_gateway(settings: Settings, clocks: Clocks) -> AsyncIterator[Tenant]:
    """Run a gateway as long as the context is open; yield its tenant once it answers.

    Raises:
        GatewayError: it cannot start; the message says what to do.
    """
    store = await Store.open(settings.database_url)
    try:
        gateway = Gateway(settings, store, clocks=clocks)
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(gateway.run())
            await _until_ready(gateway, settings.control_path)
            yield gateway.tenants[DEFAULT_TENANT]
            serving.cancel()
    except* GatewayError as errors:
        raise _first(errors) from None
    finally:
        await store.aclose()


async def _until_ready(gateway: Gateway, control: Path) -> None:
    """Wait until a gateway answers and its MCP servers are connected, or have failed.

    Raises:
        GatewayError: it takes too long.
    """
    try:
        async with asyncio.timeout(START_S):
            while not _is_ready(gateway, control):
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise GatewayError(f"the agent and its MCP servers are not ready after {START_S:g} s") from None


def _is_ready(gateway: Gateway, control: Path) -> bool:
    states = gateway.tenants[DEFAULT_TENANT].capabilities.states() if control.exists() else {"control": "pending"}
    return CONNECTING.isdisjoint(states.values())


def _first(errors: BaseExceptionGroup[GatewayError]) -> GatewayError:
    found = errors.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found


class CaseConversation:
    """The conversation of one run."""

    def __init__(self, case: Case, tenant: Tenant, clock: CaseClock, results: FixtureResults) -> None:
        self._case = case
        self._tenant = tenant
        self._clock = clock
        self._results = results
        self._said = 0

    async def hold(self) -> tuple[CaseTurn, ...]:
        """Say everything in order, each message once the turn before has ended; end early if one does not."""
        for command in self._case.before:
            await self._say(command, TURN_S)
        turns: list[CaseTurn] = []
        for message in self._case.messages:
            self._clock.set(message.at)
            limit_s = min(filter(None, (message.rules.max_seconds, self._case.rules.max_seconds, TURN_S)))
            begun_s = asyncio.get_running_loop().time()
            answer, asked = await self._say(message.text, limit_s)
            seconds = asyncio.get_running_loop().time() - begun_s
            seen = self._observe(answer, asked, seconds)
            flaws = [*_ended_badly(answer, asked, limit_s), *flaws_of(message.rules, seen, _language_of(self._tenant))]
            turns.append(CaseTurn(message.text, seen, tuple(flaws)))
            if not answer.is_settled:
                break
        return tuple(turns)

    async def _say(self, text: str, limit_s: float) -> tuple[TurnAnswer, AskedTurn]:
        """Say something; return its answer and its turn after this time at the latest.

        Raises:
            UnusableCase: the gateway does not take it.
        """
        conversations: Conversations = self._tenant.conversations
        self._said += 1
        asked = Asked(key_id="eval", user="person", session="case", handle=f"m{self._said}")
        try:
            async with asyncio.timeout(START_S):
                while not await self._is_taken(asked, text):
                    await asyncio.sleep(POLL_S)
            answer = await conversations.wait(asked, limit_s)
        except ApiRefusal as refused:
            raise UnusableCase(f"{self._case.name}: {text[:80]!r}: {refused}") from None
        found = await conversations.load(asked)
        assert found is not None, "it was stored"
        return answer, found

    async def _is_taken(self, asked: Asked, text: str) -> bool:
        try:
            await self._tenant.conversations.say(asked, text, self._case.language)
        except NotPersisted:  # its channel has not begun
            return False
        return True

    def _observe(self, answer: TurnAnswer, asked: AskedTurn, seconds: float) -> Observed:
        steps = steps_of(asked.row.turn_id or "", asked.events, self._results.missing)
        calls = [
            ObservedCall(call.tool, call.arguments, not call.is_recorded) for step in steps.steps for call in step.calls
        ]
        text = plain_text(parse(answer.answer)).strip()
        return Observed(text, tuple(calls), len(steps.steps), steps.figures.cost_microusd, seconds)


def _ended_badly(answer: TurnAnswer, asked: AskedTurn, limit_s: float) -> Iterator[str]:
    if not answer.is_settled:
        yield f"there is no answer after {limit_s:g} s"
    elif answer.state in {"failed", "refused", "stopped"}:
        why = next((event.why for event in asked.events if isinstance(event, TurnEnded)), "") or asked.row.detail
        yield f"the turn {'' if answer.state == 'failed' else 'was '}{answer.state}: {why or answer.reason}"


def _language_of(tenant: Tenant) -> Callable[[str], str | None]:
    def find(text: str) -> str | None:
        found = tenant.product.language_of_words(text)
        return None if found is None else found[0]

    return find


def check_tools(found: CaseFile, tenant: Tenant) -> None:
    """Check that each tool that a case names is one of its agents'.

    Raises:
        UnusableCase: a line for each that is not.
    """
    agents = (tenant.sessions.in_force.agent, *tenant.sessions.in_force.others.values())
    known = {name for agent in agents for tool in agent.tools for name in (tool.name, *tool.aliases)}
    known |= {READ_RESULT, TOOL_SEARCH}
    wrong = [
        f"{found.place(*keys)}: {'.'.join(map(str, keys))}: there is no tool {name!r}{hint_at(name, known)}"
        for keys, name in _named_tools(found.case)
        if name not in known
    ]
    if wrong:
        troubles = [f"{part}: {why}" for part, why in tenant.capabilities.troubles().items() if why]
        raise UnusableCase("\n".join([*wrong, *troubles]))


def _named_tools(case: Case) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield each tool that a case names, with the keys that lead there."""
    for index, fixture in enumerate(case.fixtures):
        yield ("fixtures", index, "tool"), fixture.tool
    rules: list[tuple[tuple[str | int, ...], CaseRules]] = [(("rules",), case.rules)]
    rules += [(("messages", index, "rules"), message.rules) for index, message in enumerate(case.messages)]
    for above, own in rules:
        for key, calls in (("calls", own.calls), ("does_not_call", own.does_not_call)):
            for index, called in enumerate(calls):
                yield (*above, key, index), called.tool
