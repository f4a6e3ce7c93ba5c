"""The description of an agent product: all that the harness needs of an agent.

Agents are found by name through the entry point `tenk.agents`; see `gateway.coach`. This module also loads the hooks of
the configuration.
"""

import difflib
import importlib
import re
import shutil
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import cast

from pydantic import SecretStr

from agent.bridges.foreign_turn import run_foreign_turn
from agent.bridges.table import UnusableAgent, connect
from agent.catalogue import Catalogue
from agent.config import AgentConfig
from agent.context.sections import PromptBuilder
from agent.end_texts import TellResult
from agent.hooks.chain import HookFunction, program_hook, python_hook
from agent.hooks.points import CallHook, Hook, HookConfig, HookGiven, HookPoint, HookSaid
from agent.mcp.names import is_name_of
from agent.models.offline import OfflineRules, RuleAnswer
from agent.permission_rules import PermissionRule, Source, Verdict
from agent.permissions.chain import RulesConfig
from agent.ports import Change, LocalEffect, ModelRequest
from agent.tools.base import CanUseTool, Effect, Tool, tools_of
from agent.tools.schema import UnusableSchema, names_in, to_json_schema
from agent.tools.toolbox import tool_pool
from agent.voice.transcribers import is_whisper_installed
from channels.errors import ConfigRefused
from channels.messages import DEFAULT_TENANT
from channels.registry import make_channel
from gateway.capabilities.table import tool_names
from gateway.commands.base import Command
from gateway.config.settings import ChannelsConfig, Settings
from gateway.config.sources import KeyPath, Sources
from gateway.definitions import definition_folder, read_agents, wrong_folders
from gateway.errors import SettingsError
from gateway.extensions import AGENTS, FLAWS, HOOKS, TOOLS, first_words, load_extension
from gateway.http.api.conversations import Conversations
from gateway.http.api.routes import ApiRoute
from gateway.ops.scheduler import Schedule
from gateway.sessions.deps import TURNS, RunTurn
from gateway.sessions.inbox_rules import LanguageOfWords
from gateway.store.agent_tables import AgentTables
from gateway.store.engine import Store, engine_for
from gateway.texts import HARNESS

ApplyOnce = Callable[[Change, LocalEffect], object]
"""Applies a change and returns its result."""


def _apply(change: Change, effect: LocalEffect) -> object:
    return effect.run(change)


AnswerCheck = Callable[[HookGiven], Awaitable[str]]
"""Gets `user`, `tenant`, `agent`, `turn` (its id) and `text` of an answer; returns what it lacks, "" if nothing."""

CHECK_S = 60.0
"""Seconds after which a check is given up, and not made again before a reload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProduct:
    """Description of an agent. Its parts get the store when they are made."""

    name: str
    """Lower case: the entry point's name, part of session keys, and the command that carries a message."""
    title: str
    """Name for people, on the web page and in menus."""
    prompt: PromptBuilder
    description: str = ""
    """One line about it, or its text key, for the apps of platforms."""
    tools: Callable[[Store], Sequence[Tool]] = lambda _store: ()
    commands: Callable[[Store], Sequence[Command]] = lambda _store: ()
    """Its own commands, listed before the common ones, which they may replace.

    A handler returns a `Reply`, or a `Write` whose job changes data in the commit of the reply.
    """
    turns: Callable[[Store], Mapping[str, RunTurn]] = lambda _store: {}
    """Additional kinds of turns, started by its commands (`Command.turn`) or by certain messages."""
    kind_of_words: Callable[[str], str | None] = lambda _text: None
    """Function that returns the kind of turn a message starts; None: an ordinary one. Pure and quick."""
    language_of_words: LanguageOfWords = lambda _text: None
    """Function that returns the language of a message, and True if it asks for answers in that; None: unknown."""
    routes: Callable[[Store, Conversations], Sequence[ApiRoute]] = lambda _store, _conversations: ()
    """Additional routes under `/v1`; the conversations run turns."""
    apply_once: ApplyOnce = _apply
    """Function that applies a change of a program's tool call, outside of a turn: once for each `Change.key`.

    The default does not look at the key.
    """
    schedule: Schedule | None = None
    """Due dates in its data, answered by its `system` commands; None: none."""
    tables: AgentTables | None = None
    """Tables of its data; None: none."""
    tell: TellResult | None = None
    """Formatter of tool results for people if the model fails; None: a plain list."""
    texts: Catalogue | None = None
    """Its texts, which take precedence over `gateway/locale`; None: none."""
    limits: AgentConfig = field(default_factory=AgentConfig)
    """Limits of a turn, if the operator sets none."""
    permissions: RulesConfig = field(default_factory=RulesConfig)
    """Its rules about its own tools, of the source `project`."""
    can_use_tool: CanUseTool | None = None
    """Its decision about each tool call, before the rules; None: none."""
    checks: Callable[[Store], Sequence[AnswerCheck]] = lambda _store: ()
    """Checks of each answer before it ends a turn; one that fails sends the model on, at most three times a turn."""
    offline: OfflineRules | None = None
    """Rules that answer without a model; None: it needs a model."""

    def make_tools(self, store: Store) -> tuple[Tool, ...]:
        """Return its tools.

        Raises:
            SettingsError: `tools` is no function of the store that returns tools.
        """
        why = f"the agent {self.name}: its tools cannot be made; write tools=lambda store: tools_of(OBJECT): "
        try:
            made: tuple[object, ...] = tuple(self.tools(store))
        except FLAWS as error:
            raise SettingsError(f"{why}{first_words(error)}") from error
        tools = tuple(each for each in made if isinstance(each, Tool))
        if len(tools) < len(made):
            wrong = next(each for each in made if not isinstance(each, Tool))
            raise SettingsError(f"{why}{type(wrong).__name__} is no Tool")
        return tools

    @property
    def catalogue(self) -> Catalogue:
        """Return the texts of this agent and its gateway."""
        return HARNESS if self.texts is None else _over_harness(self.texts)


@cache
def _over_harness(texts: Catalogue) -> Catalogue:
    return texts.over(HARNESS)


class NoRules:
    """The rules of an agent that asks models of its own: they answer nothing."""

    def answer(self, _request: ModelRequest) -> RuleAnswer:
        return RuleAnswer()


def load_product(name: str, token: SecretStr | None = None) -> AgentProduct:
    """Return the agent product of this name; the token is for an agent of another framework at a URL.

    Raises:
        SettingsError: there is none, or it has another name.
    """
    if ":" in name:
        return _bridged_product(name, "" if token is None else token.get_secret_value())
    product = load_extension(AGENTS, name)
    if not isinstance(product, AgentProduct):
        raise SettingsError(f"the agent {name!r} is no AgentProduct but a {type(product).__name__}")
    if product.name != name:
        raise SettingsError(f"the agent {name!r} calls itself {product.name!r}; its entry point's name is its name")
    return product


def _bridged_product(name: str, token: str) -> AgentProduct:
    """Return the product of another framework's agent; its bridge's name is its name."""
    try:
        foreign = connect(name, token)
    except UnusableAgent as why:
        raise SettingsError(f"the agent {name!r}: {why}") from why
    except FLAWS as error:
        raise SettingsError(f"the agent {name!r} cannot be imported: {first_words(error)}") from error
    run = partial(run_foreign_turn, foreign=foreign)
    return AgentProduct(
        name=name.partition(":")[0],
        title=foreign.title or "Agent",
        prompt=lambda _principal, _now, _hints: {},
        turns=lambda _store: dict.fromkeys(TURNS, run),
        offline=NoRules(),
    )


def load_tools(names: Sequence[str]) -> tuple[Tool, ...]:
    """Return the tools of these entry points, in the order of the names.

    Raises:
        SettingsError: a name is unknown, or provides no tools.
    """
    found: list[Tool] = []
    for name in names:
        make = load_extension(TOOLS, name)
        try:
            tools = tools_of(make()) if callable(make) else ()
        except FLAWS as error:
            raise SettingsError(f"the tool {name!r} cannot be made: {first_words(error)}") from error
        if not tools:
            raise SettingsError(f"the tool {name!r} brings none: it names no class with methods that @tool declares")
        found += tools
    return tuple(found)


def check_names(settings: Settings, sources: Sources) -> None:
    """Check that rules and hooks name existing tools, that models can be told of all tools, and that a model or rules
    can answer; also for each tenant. Check that channels of plug-ins can be made.

    Raises:
        SettingsError: a line for each mistake, with the nearest name.
    """
    wrong = [
        *_wrong_names(settings, sources, (), NAMING),
        *wrong_folders(settings),
        *_wrong_channels(settings, sources),
        *_wrong_voice(settings, sources),
    ]
    for name, own in settings.tenants.items():
        tables = {table for table in NAMING if getattr(own, table) is not None}
        if tables or definition_folder(settings.of_tenant(name), name) != settings.agent.folder:
            wrong += _wrong_names(settings.of_tenant(name), sources, ("tenants", name), tables)
    if wrong:
        raise SettingsError("\n".join(dict.fromkeys(wrong)))


NAMING = frozenset({"agent", "model", "permissions", "hooks"})
"""Tables that name tools, or decide if anything can answer."""


def check_flags(settings: Settings, flags: Sequence[PermissionRule]) -> None:
    """Check that permission rules of a command line name tools that the agent of some tenant has.

    Raises:
        SettingsError: a line for each unknown name, with the nearest one.
    """
    flaws: list[set[str]] = []
    for name in (DEFAULT_TENANT, *settings.tenants) if flags else ():
        own = settings.of_tenant(name)
        product = load_product(own.agent.product)
        tools = (*product.make_tools(Store(engine_for(own.database_url))), *_brought_tools(own.agent.tools)[0])
        known = {tool.name: tool for tool in tools}
        flaws.append({why for rule in flags if (why := _flaw_of(rule, known, own))})
    if flaws and (wrong := set.intersection(*flaws)):
        raise SettingsError("\n".join(sorted(wrong)))


def _wrong_names(settings: Settings, sources: Sources, above: KeyPath, tables: Collection[str]) -> list[str]:
    """Return the unknown names in these tables; their keys begin with `above`."""
    product = load_product(settings.agent.product, settings.agent.token)
    closed = Store(engine_for(settings.database_url))  # listing tools does not read from it
    known = {tool.name: tool for tool in product.make_tools(closed)}
    wrong = [f"the agent {product.name}: {why}" for why in unusable_tools(known.values())]
    if product.offline is None and settings.model.name == "offline":
        wrong.append(
            f"{_place(sources, (*above, 'model', 'name'))}: the agent {product.name} has no rules to answer by, "
            "so it needs a model: set OPENAI_API_KEY or ANTHROPIC_API_KEY, or OPENAI_BASE_URL for a server of your own"
        )
    brought, flaws = _brought_tools(settings.agent.tools)
    pool, left_out = tool_pool(known.values(), brought)
    known = {tool.name: tool for tool in pool}
    for name in left_out:
        entry = next(
            each for each in reversed(settings.agent.tools) if name in {tool.name for tool in load_tools([each])}
        )
        flaws.append(f"the tool {name!r} of {entry!r} is not used: there is another of that name; take {entry!r} out")
    wrong += [f"{_place(sources, (*above, 'agent', 'tools'))}: {why}" for why in flaws]
    for path, rule in _rules_by_place(settings, above):
        if path[len(above)] in tables and (why := _flaw_of(rule, known, settings)):
            wrong.append(f"{_place(sources, path)}: {why}")
    wrong += _wrong_agents(settings, known, sources, above)
    return wrong + (_wrong_hooks(settings, known, sources, above) if "hooks" in tables else [])


def _wrong_channels(settings: Settings, sources: Sources) -> Iterator[str]:
    """Yield a line for each account whose channel of a plug-in cannot be made."""
    for channel, account in settings.channels.accounts():
        if channel not in ChannelsConfig.model_fields:
            path = ("channels", channel, account.name)
            try:
                make_channel(channel, account)
            except ConfigRefused as refused:
                yield f"{_place(sources, path)}: {refused}"
            except FLAWS as error:
                yield f"{_place(sources, path)}: the channel cannot be made: {first_words(error)}"


def _wrong_voice(settings: Settings, sources: Sources) -> Iterator[str]:
    """Yield a line if voice messages cannot be transcribed as wanted, and for each price that a cap in USD needs."""
    voice = settings.voice
    if voice is None:
        return
    for url, price in (
        ("transcription_url", "transcription_usd_per_minute"),
        ("speech_url", "speech_usd_per_million_chars"),
    ):
        if settings.budgets.caps_usd and getattr(voice, url) is not None and getattr(voice, price) is None:
            yield f"{_place(sources, ('voice', url))}: a cap in USD needs its price: set voice.{price}, 0 if it is free"
    if voice.local_model is not None and not is_whisper_installed():
        place = _place(sources, ("voice", "local_model"))
        yield f"{place}: it needs faster-whisper: pip install 'tenk-gateway[voice]'"


def _wrong_agents(settings: Settings, known: Mapping[str, Tool], sources: Sources, above: KeyPath) -> list[str]:
    """Return a line for each mistake in a file of an agent, and for each setting that names an unknown one."""
    folder = settings.agent.folder
    if folder is not None and not folder.is_dir():
        return [f"{_place(sources, (*above, 'agent', 'folder'))}: there is no folder {folder}"]
    try:
        agents = read_agents(settings, above[-1] if above else DEFAULT_TENANT)
    except SettingsError as broken:
        return str(broken).splitlines()
    wrong = []
    for agent in agents:
        rules = [PermissionRule(Verdict.ALLOW, Source.LOCAL, name) for name in agent.tools or ()]
        flaws = [why for rule in rules if (why := _flaw_of(rule, known, settings))]
        wrong += [f"{agent.place('tools')}: tools: {why}" for why in flaws]
    names = [settings.agent.product, *(agent.name for agent in agents)]
    for key in ("accounts", "groups"):
        for chosen_for, name in getattr(settings.agent, key).items():
            if name not in names:
                place = _place(sources, (*above, "agent", key, chosen_for))
                wrong.append(f'{place}: there is no agent "{name}"; {_hint(name, names)}')
    return wrong


def _place(sources: Sources, path: KeyPath) -> str:
    return f"{sources.place_of(path)}: {'.'.join(path)}"


def _wrong_hooks(settings: Settings, known: Mapping[str, Tool], sources: Sources, above: KeyPath) -> list[str]:
    wrong = []
    for index, hook in enumerate(settings.hooks):
        place = _place(sources, (*above, "hooks", str(index)))
        try:
            patterns = [pattern for each in load_hook(hook) for pattern in each.tools]
        except SettingsError as unknown:
            wrong.append(f"{place}: {unknown}")
            continue
        rules = [PermissionRule(Verdict.ASK, Source.LOCAL, pattern) for pattern in patterns]
        wrong += [f"{place}.tools: {why}" for why in (_flaw_of(rule, known, settings) for rule in rules) if why]
    return wrong


def _brought_tools(names: Sequence[str]) -> tuple[tuple[Tool, ...], list[str]]:
    """Return the tools of these entry points, and their errors."""
    try:
        tools = load_tools(names)
    except SettingsError as unusable:
        return (), [str(unusable)]
    return tools, list(unusable_tools(tools))


_TOOL_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")


def unusable_tools(tools: Iterable[Tool]) -> Iterator[str]:
    """Yield why a model cannot be told of a tool, or why a tool is declared wrongly."""
    for tool in tools:
        if not _TOOL_NAME.fullmatch(tool.name):
            yield f"the tool {tool.name!r} needs a name of 1 to 64 letters, digits, - and _: model APIs refuse others"
        if tool.output_schema is not None and tool.effect is Effect.LOCAL:
            yield f"the tool {tool.name!r} has an output_schema, and Effect.LOCAL: it gives what its effect returns"
        for schema, whose in ((tool.arguments, "takes"), (tool.output_schema, "gives")):
            try:
                _ = schema and to_json_schema(schema)
            except UnusableSchema as why:
                yield f"the schema of what the tool {tool.name!r} {whose} cannot be used: {why}"


def _rules_by_place(settings: Settings, above: KeyPath) -> Iterator[tuple[KeyPath, PermissionRule]]:
    """Yield each configured rule with its key."""
    for rule in settings.permissions.all_rules():
        policy = ("policy",) if rule.source is Source.POLICY else ()
        yield (*above, "permissions", *policy, rule.verdict.value), rule
    for key, verdict in (("allow_tools", Verdict.ALLOW), ("deny_tools", Verdict.DENY)):
        for pattern in getattr(settings.agent, key):
            yield (*above, "agent", key), PermissionRule(verdict, Source.LOCAL, pattern)


def _flaw_of(rule: PermissionRule, known: Mapping[str, Tool], settings: Settings) -> str:
    """Return the unknown name in a rule with the nearest one; "" if there is none, or a capability may add the tool."""
    added = tool_names(settings)
    if not rule.names_one_tool or rule.tool in added or is_name_of(rule.tool, settings.mcp):
        return ""
    tool = known.get(rule.tool)
    if tool is None:
        return f'there is no tool "{rule.tool}"; {_hint(rule.tool, [*known, *added])}'
    takes = names_in(tool.arguments)
    if rule.argument is None or takes is None or rule.argument in takes:
        return ""
    return f'{rule.tool} takes no "{rule.argument}"; {_hint(rule.argument, takes)}'


def _hint(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f'did you mean "{near[0]}"?' if near else f"there are: {', '.join(names) or 'none'}"


def in_force(settings: Settings, product: AgentProduct) -> Settings:
    """Return the settings with the product's limits and title where the operator set none."""
    unsaid = product.limits.model_fields_set - settings.agent.model_fields_set
    agent = settings.agent.model_copy(update=product.limits.model_dump(include=unsaid))
    web = settings.channels.web
    titled = web.model_copy(update={"title": web.title or product.title})
    channels = settings.channels.model_copy(update={"web": titled})
    return settings.model_copy(update={"agent": agent, "channels": channels})


def check_hooks(product: AgentProduct, store: Store) -> tuple[Hook, ...]:
    """Return the product's checks of its answers, as hooks that are called before an answer ends a turn."""
    return tuple(
        Hook(name=f"check {number}", point=HookPoint.STOP, call=_as_hook(check, product.name), timeout_s=CHECK_S)
        for number, check in enumerate(product.checks(store), 1)
    )


def _as_hook(check: AnswerCheck, name: str) -> CallHook:
    async def call(given: HookGiven) -> HookSaid:
        missing = "" if given["agent"] not in ("", name) else await check(given)  # another agent promises other things
        return HookSaid(decision="deny", reason=missing) if missing else HookSaid()

    return call


def load_hooks(configs: Sequence[HookConfig]) -> tuple[Hook, ...]:
    """Return the hooks in the order in which they are called.

    Raises:
        SettingsError: a hook cannot be loaded.
    """
    return tuple(hook for config in configs for hook in load_hook(config))


def load_hook(config: HookConfig) -> tuple[Hook, ...]:
    """Return the hooks of one table; a name may stand for several.

    Raises:
        SettingsError: the hook cannot be loaded.
    """
    if config.use is not None:
        return load_offered_hooks(config.use)
    assert config.point is not None, "the settings hold none without"
    if config.python is not None:
        name, call = config.python, python_hook(_function(config.python))
    else:
        name = config.command[0]
        if shutil.which(name) is None:
            raise SettingsError(f"there is no program {name!r} that could be run")
        call = program_hook(config.command)
    return (
        Hook(
            name=name,
            point=config.point,
            call=call,
            tools=config.tools,
            timeout_s=config.timeout_s,
            required=config.required,
        ),
    )


def load_offered_hooks(name: str) -> tuple[Hook, ...]:
    """Return the hooks of an entry point.

    Raises:
        SettingsError: it does not exist, or gives no hooks.
    """
    found = load_extension(HOOKS, name)
    if callable(found) and not isinstance(found, Hook):
        try:
            found = found()
        except FLAWS as error:
            made = "an entry point names a Hook, or a function without arguments that returns some"
            raise SettingsError(f"the hook {name!r} cannot be made: {first_words(error)}; {made}") from error
    hooks = tuple(found) if isinstance(found, list | tuple) else (found,)
    if not hooks or not all(isinstance(hook, Hook) for hook in hooks):
        raise SettingsError(f"the hook {name!r} is no Hook, and gives none")
    return hooks


def _function(path: str) -> HookFunction:
    module, _, name = path.partition(":")
    try:
        found = importlib.import_module(module)
    except FLAWS as error:
        raise SettingsError(f"the hook {path!r} cannot be imported: {first_words(error)}") from None
    function = getattr(found, name, None)
    if not callable(function):
        near = difflib.get_close_matches(name, [each for each in dir(found) if callable(getattr(found, each))], 1)
        meant = f"; did you mean {module}:{near[0]}?" if near else ""
        raise SettingsError(f"the hook {path!r} names no function{meant}")
    return cast("HookFunction", function)
