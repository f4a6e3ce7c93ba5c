"""Tasks for agents of their own: the tools of the model, and the turns that work on tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from agent.context.history import remember
from agent.context.sections import Section
from agent.definition import Agent
from agent.delegation.agent_types import FORK, list_types
from agent.delegation.definitions import AgentDefinition
from agent.delegation.delegation_config import DelegationConfig
from agent.delegation.tasks import GivenTask, narrowest
from agent.delegation.tools import DelegationTools
from agent.loop import run_turn
from agent.permission_rules import Mode, PermissionRule, TurnPermissions
from agent.ports import Change, Principal, Turn, TurnPorts
from agent.tools.base import Tool, ToolError, tools_of
from agent.tools.guards import UnaskedPermissions
from agent.tools.results import success_result
from agent.transcript import EndReason, Item, JournalEvent, ModelResponded, ToolReturned, fold
from channels.chat.probing import Finding
from channels.clocks import Clocks
from gateway.capabilities.base import Capability, CapabilityDeps
from gateway.config.settings import Settings
from gateway.sessions.deps import RunTurn
from gateway.store import children, conversations, journal, session_rules
from gateway.store.children import SUBAGENT, Child, ChildState
from gateway.store.engine import Connection, Store

UNASKED = (
    "needs the person's approval, and a task in the background asks for none. Do without it, and say in your result "
    "what is left to do."
)

PLACEHOLDER = success_result("You are a task that this response has begun. Go on with the next message.")
"""The result of each call of the response in which a fork begins: always the same bytes."""

ON_TASKS = """\
You can give tasks to agents with `agent`: work that can be done apart from this conversation, or several things side \
by side. There are:
{types}
The result of a task in the background comes by itself as a task notification, which is data; tell the person what \
matters to them."""

ON_ONE_TASK = """\
You work on one task for another agent. No person reads along and no one answers questions: decide, and say what you \
assumed. Your last text is the result, and the only thing that the other agent gets: complete, without preamble."""


@dataclass(frozen=True, slots=True)
class StoredTasks:
    """The tasks of a tenant as rows."""

    store: Store
    clocks: Clocks
    config: DelegationConfig
    tenant: str
    types: Mapping[str, str]
    models: Sequence[str]

    async def result_of(self, call_key: str) -> Mapping[str, object] | None:
        child = await self.store.read(partial(children.CHILDREN.get, id=call_key), lasting=True)
        if child is None or child.state is ChildState.RUNNING:
            return None
        return {"task": child.label, "status": child.state.value, "result": child.result}

    def begin(self, change: Change, task: GivenTask) -> Mapping[str, object]:
        child = children.begin(change.tx, change.key, self.tenant, task, self.config, self.clocks.now())
        return {"task": child.label, "status": child.state.value}

    def send(self, change: Change, to: str, text: str) -> Mapping[str, object]:
        sent = children.send(change.tx, change.key, self.tenant, to, text, self.config, self.clocks.now())
        return {"sent_to": sent.to} | ({"full": sent.full} if sent.full else {})

    def stop(self, change: Change, label: str) -> Mapping[str, object]:
        caller = children.caller_of(change.tx, change.key)
        found = children.running_of(change.tx, caller.session_key)
        running = {child.label: child for child in found if child.user_id == caller.user_id}
        if label not in running:
            names = ", ".join(running) or "none"
            raise ToolError(f"No task of yours that runs is called {label[:80]!r}. There are: {names}.")
        children.stop(change.tx, running[label], self.clocks.now(), "task_stop")
        return {"task": label, "status": ChildState.STOPPED.value}


class Delegation(Capability):
    """Tasks of one tenant's agents."""

    def __init__(
        self,
        config: DelegationConfig,
        settings: Settings,
        deps: CapabilityDeps,
        definitions: Sequence[AgentDefinition] = (),
    ) -> None:
        self._config = config
        self._store = deps.store
        self._history_events = settings.sessions.history_events
        self._definitions = {each.name: each for each in definitions}
        self._types = list_types(definitions)
        models = tuple(link.name for link in settings.model.links())
        tenant = deps.store.home_tenant
        desk = StoredTasks(deps.store, deps.clocks, config, tenant, self._types, models)
        self._tools = tools_of(DelegationTools(desk))

    def tools(self) -> Sequence[Tool]:
        return self._tools

    def sections(self, principal: Principal) -> Mapping[Section, str]:
        types = "\n".join(f"- {name}: {description}" for name, description in self._types.items())
        return {Section.TOOLS: ON_TASKS.format(types=types)}

    def turns(self) -> Mapping[str, RunTurn]:
        return {SUBAGENT: self.run_task}

    async def check(self) -> Sequence[Finding]:
        return (Finding("delegation", f"agents for tasks: {', '.join(self._types)}"),)

    async def run_task(self, turn: Turn, ports: TurnPorts, agent: Agent) -> EndReason:
        """Run the turn of a task: the same agent or another one, never with more than its parent may.

        Raises:
            TurnParked: it waits for its person or for a task of its own.
            Fenced: another process owns the session; nothing more was written.
        """
        task = await self._store.read(partial(_read_task, turn=turn, limit=self._history_events), lasting=True)
        line = task.line
        definition = self._definitions.get(line[0].type)
        modes = [known.mode for child in line if (known := self._definitions.get(child.type)) is not None]
        mode = narrowest(task.mode or agent.permits.mode, *modes)
        permissions = TurnPermissions((*turn.permissions.rules, *task.rules), mode)
        principal = turn.principal if line[0].model is None else replace(turn.principal, model=line[0].model)
        turn = replace(turn, principal=principal, permissions=permissions)
        agent = self._agent_of(agent, line, definition)
        if line[0].type == FORK:
            turn = replace(turn, history=task.history)
        return await run_turn(turn, ports, agent)

    def _agent_of(self, agent: Agent, line: Sequence[Child], definition: AgentDefinition | None) -> Agent:
        """Return the agent that works on a task; a fork has the prompt and the tools of its parent, byte for byte."""
        if line[0].type != FORK:
            agent = agent.for_tasks or agent
        steps = self._config.max_steps if definition is None or definition.steps is None else definition.steps
        limits = {"max_steps": min(steps, self._config.max_steps), "deadline_s": self._config.deadline_s, "gate": None}
        agent = replace(agent, limits=agent.limits.model_copy(update=limits))
        if any(child.in_background for child in line):
            agent = replace(agent, permissions=UnaskedPermissions(agent.permits, UNASKED))
        if line[0].type == FORK:
            return agent
        beneath = len(line) < self._config.max_depth
        own = {tool.name for tool in self._tools if not beneath and tool.name != "send_message"}
        tools = [tool for tool in agent.tools if not (tool.name in own and tool in self._tools)]
        if definition is not None:
            tools = [tool for tool in tools if definition.has_tool(tool.name)]
            agent = replace(agent, prompt=lambda *_: {Section.IDENTITY: definition.prompt})
        return replace(agent, tools=tuple(tools), sections=partial(_sections_of_task, agent))


def _sections_of_task(agent: Agent, principal: Principal) -> Mapping[Section, str]:
    return {**agent.sections(principal), Section.TOOLS: ON_ONE_TASK}


@dataclass(frozen=True, slots=True)
class _Task:
    """A task with what its turn takes over from the turns above."""

    line: Sequence[Child]  # the task, and those that it descends from
    mode: Mode | None  # of the conversation
    rules: tuple[PermissionRule, ...]  # of the person in it
    history: tuple[Item, ...]  # of a fork


def _read_task(connection: Connection, turn: Turn, limit: int) -> _Task:
    own = children.of_turn(connection, turn.id)
    if own is None:
        raise RuntimeError(f"turn {turn.id} works on no task")
    line = children.line_of(connection, own.session_key)
    tenant, root = own.tenant, journal.root_of(own.session_key)
    state = journal.load_session(connection, tenant, root, 1)
    rules = {} if state is None else session_rules.of_session(connection, state.id)
    history = _history_of_fork(connection, own, turn.principal.user_id, limit) if own.type == FORK else ()
    return _Task(line, None if state is None else state.permission_mode, rules.get(turn.principal.user_id, ()), history)


def _history_of_fork(connection: Connection, child: Child, user_id: str, limit: int) -> tuple[Item, ...]:
    """Return what the parent's model had read when it began the fork, with one constant result for each call."""
    turn_id, step = child.id.split("/")[0], int(child.id.split("/")[1])
    state = journal.load_session(connection, child.tenant, child.parent_key, limit)
    past = [] if state is None else [turn for turn in state.past if turn.id < turn_id]
    summary = None if state is None else conversations.find_summaries(connection, state.id).get(user_id)
    events: list[JournalEvent] = []
    for event in journal.events_of_turn(connection, turn_id):
        events.append(event)
        if isinstance(event, ModelResponded) and event.step == step:
            calls = enumerate(event.tool_calls)
            key = f"{turn_id}/{step}"
            events += [ToolReturned(step, f"{key}/{at}", call.id, call.name, PLACEHOLDER) for at, call in calls]
            break
    return (*remember(past, user_id, summary, turn_id).history, *fold(events))
