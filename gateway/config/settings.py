"""The whole configuration, composed of each package's own model."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)

from agent.calendar import is_zone
from agent.config import AgentConfig, ModelConfig
from agent.delegation.delegation_config import DelegationConfig
from agent.delegation.teams_config import TeamsConfig
from agent.hooks.points import HookConfig
from agent.mcp.config import McpServerConfig, McpServerName
from agent.mcp.integrations import IntegrationsConfig
from agent.memory.config import MemoryConfig
from agent.permissions.chain import PermissionsConfig
from agent.programs.config import ProgramConfig, ProgramName
from agent.schedules.schedules_config import SchedulesConfig
from agent.skills.config import SkillsConfig
from agent.tools.notes_config import NotesConfig
from agent.voice.config import VoiceConfig
from agent.web.config import WebConfig
from agent.workspace.config import WorkspaceConfig
from channels.api.config import ApiAccount
from channels.console.config import ConsoleAccount
from channels.discord.config import DiscordAccount
from channels.registry import AccountConfig, ChannelNotInstalled, account_model, channel_names
from channels.slack.config import SlackAccount
from channels.telegram.config import TelegramAccount
from channels.web.config import WebAccount
from gateway.access.config import AccessConfig, CanonicalId
from gateway.config.environment import OPENAI_ONLY, REPLACED, from_environment
from gateway.config.named_things import (
    check_accounts,
    check_agent,
    check_model,
    check_searches,
    check_tenants,
    check_tokens,
)
from gateway.config.sources import ConfigFile, KeyPath, Sources, Tree, explain, is_secret, merge, read_file
from gateway.credentials.config import ConnectConfig
from gateway.delivery.config import DeliveryConfig
from gateway.errors import SettingsError
from gateway.extensions import FLAWS, first_words
from gateway.http.config import OAUTH_PATH, HttpConfig
from gateway.ops.retention_config import RetentionConfig
from gateway.safety.guard import GuardConfig
from gateway.sessions.config import BudgetsConfig, PicturesConfig, SessionsConfig

Language = Annotated[str, Field(pattern=r"^[a-z]{2}$")]
TenantName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]
DEFAULT_FILE = Path("config/gateway.toml")
SECRETS_NAME = "secrets.toml"  # beside the main file
AGENTS_FOLDER = "agents"  # beside the main file


class GatewayConfig(BaseModel):
    """General settings: where data is stored, and how much is logged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    home: Path = Path("var")
    database_url: SecretStr | None = None
    secret_keys: SecretStr | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    traces: bool = False
    log_format: Literal["auto", "json", "console"] = "auto"
    language: Language | None = None
    """Language of people who have not chosen one, if their platform tells none; None: English."""
    timezone: str | None = None
    """IANA zone of new people, until they name theirs; a browser's zone goes before. None: UTC."""

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, name: str | None) -> str | None:
        if name is not None and not is_zone(name):
            raise ValueError("there is no such time zone; write it like Europe/Madrid")
        return name


class ChannelsConfig(BaseModel):
    """Accounts on platforms, by name. `settings_model` adds the platforms of plug-ins."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    telegram: Mapping[str, TelegramAccount] = Field(default_factory=dict)
    discord: Mapping[str, DiscordAccount] = Field(default_factory=dict)
    slack: Mapping[str, SlackAccount] = Field(default_factory=dict)
    web: WebAccount = WebAccount()
    console: ConsoleAccount = ConsoleAccount()
    api: ApiAccount = ApiAccount()

    @field_validator("*", mode="before")
    @classmethod
    def _named_by_their_tables(cls, accounts: object) -> object:
        """Name each account after its table: `[channels.telegram.coach]` is the account coach."""
        if not isinstance(accounts, dict):
            return accounts
        tables = {name: account for name, account in accounts.items() if isinstance(account, dict)}
        return accounts | {name: {"name": name} | account for name, account in tables.items()}

    @model_validator(mode="after")
    def _have_no_other_names(self) -> Self:
        for channel, accounts in self._tables():
            for key, account in accounts.items():
                if account.name != key:
                    named = f"the account {key} of {channel} calls itself {account.name}"
                    raise ValueError(f"{named}; its table's name is its name")
        return self

    def accounts(self) -> Iterator[tuple[str, AccountConfig]]:
        """Yield every account on a platform with its channel's name; web, console and API have no accounts."""
        for channel, accounts in self._tables():
            for account in accounts.values():
                yield channel, account

    def _tables(self) -> Iterator[tuple[str, Mapping[str, AccountConfig]]]:
        for channel in type(self).model_fields:
            accounts = getattr(self, channel)
            if isinstance(accounts, Mapping):
                yield channel, accounts


class AgentSettings(AgentConfig):
    """Agent that answers, its additional tools, and the limits of its turns."""

    product: str = "coach"
    token: SecretStr | None = None
    tools: tuple[str, ...] = ()
    personas: Mapping[str, str] = Field(default_factory=dict)
    folder: Path | None = None
    """None: `agents` beside the configuration file."""
    accounts: Mapping[str, str] = Field(default_factory=dict)
    groups: Mapping[CanonicalId, str] = Field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the agent: an entry point's, or that of the bridge to another framework's agent."""
        return self.product.partition(":")[0]

    @property
    def is_bridged(self) -> bool:
        """Return True if the agent is another framework's, which asks models of its own."""
        return ":" in self.product


class TenantConfig(BaseModel):
    """Tables of one tenant: a table here replaces the installation's table as a whole.

    Other tables are the installation's. Single keys are never inherited, least of all secrets.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: Language | None = None
    agent: AgentSettings | None = None
    model: ModelConfig | None = None
    connect: Mapping[str, ConnectConfig] | None = None
    access: AccessConfig | None = None
    permissions: PermissionsConfig | None = None
    hooks: tuple[HookConfig, ...] | None = None
    tools: NotesConfig | None = None
    mcp: Mapping[McpServerName, McpServerConfig] | None = None
    integrations: IntegrationsConfig | None = None
    memory: MemoryConfig | None = None
    web: WebConfig | None = None
    guard: GuardConfig | None = None
    budgets: BudgetsConfig | None = None
    sessions: SessionsConfig | None = None
    skills: SkillsConfig | None = None
    schedules: SchedulesConfig | None = None
    delegation: DelegationConfig | None = None
    teams: TeamsConfig | None = None
    workspace: WorkspaceConfig | None = None
    cli: Mapping[ProgramName, ProgramConfig] | None = None

    @field_validator("permissions")
    @classmethod
    def _has_no_policy(cls, table: PermissionsConfig | None) -> PermissionsConfig | None:
        if table is not None and "policy" in table.model_fields_set:
            raise ValueError("a tenant has no policy of its own; [permissions.policy] holds in every tenant")
        return table


class Settings(BaseModel):
    """All settings; frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gateway: GatewayConfig = GatewayConfig()
    http: HttpConfig = HttpConfig()
    access: AccessConfig = AccessConfig()
    guard: GuardConfig = GuardConfig()
    sessions: SessionsConfig = SessionsConfig()
    pictures: PicturesConfig = PicturesConfig()
    budgets: BudgetsConfig = BudgetsConfig()
    delivery: DeliveryConfig = DeliveryConfig()
    retention: RetentionConfig = RetentionConfig()
    permissions: PermissionsConfig = PermissionsConfig()
    hooks: tuple[HookConfig, ...] = ()
    """Checked in this order."""
    web: WebConfig | None = None
    """Tools that read and search the web; None: the agent has none."""
    voice: VoiceConfig | None = None
    """None: voice messages are not transcribed, and answers are not spoken."""
    agent: AgentSettings = AgentSettings()
    """The product sets limits that are not set here: `gateway.product.in_force`."""
    model: ModelConfig = ModelConfig()
    tools: NotesConfig | None = None
    mcp: Mapping[McpServerName, McpServerConfig] = Field(default_factory=dict)
    """MCP servers by name; two names for one server are one server, the first."""
    integrations: IntegrationsConfig | None = None
    """MCP server that reaches many services; None: none."""
    memory: MemoryConfig | None = None
    """None: nothing is remembered of people."""
    connect: Mapping[str, ConnectConfig] = Field(default_factory=dict)
    """Providers for accounts that people connect themselves, by the name in `model.provider`."""
    channels: ChannelsConfig = ChannelsConfig()
    skills: SkillsConfig | None = None
    """None: no skills."""
    schedules: SchedulesConfig | None = None
    """None: people have reminders only."""
    delegation: DelegationConfig | None = None
    """None: the agent gives no tasks to others."""
    teams: TeamsConfig | None = None
    """None: no board of tasks."""
    workspace: WorkspaceConfig | None = None
    """None: no folders."""
    cli: Mapping[ProgramName, ProgramConfig] = Field(default_factory=dict)
    """Programs that the model may run with secrets, by name."""
    tenants: Mapping[TenantName, TenantConfig] = Field(default_factory=dict)
    """By name; accounts and API keys name their tenant. Without one they belong to the installation's own."""

    def of_tenant(self, name: str) -> "Settings":
        """Return the settings in force for this tenant; for the installation's own, those outside of `tenants`."""
        own = self.tenants.get(name)
        if own is None:
            return self
        tables = {key: getattr(own, key) for key in TenantConfig.model_fields if key != "language"}
        said: dict[str, Any] = {key: table for key, table in tables.items() if table is not None}
        if "budgets" in said:  # the installation's daily caps apply to all tenants
            whole = {"day_usd": self.budgets.day_usd, "day_tokens": self.budgets.day_tokens}
            said["budgets"] = said["budgets"].model_copy(update=whole)
        if "permissions" in said:
            said["permissions"] = said["permissions"].model_copy(update={"policy": self.permissions.policy})
        return self.model_copy(update=said)

    def unused_tenants(self, of_keys: Collection[str] = ()) -> tuple[str, ...]:
        """Return the tenants that no account and no key (`of_keys`) belongs to, so that they are unreachable."""
        used = {account.tenant for _, account in self.channels.accounts()} | {self.channels.web.tenant}
        return tuple(name for name in self.tenants if name not in used | set(of_keys))

    def named_plugins(self) -> frozenset[tuple[str, str]]:
        """Return the group and name of each entry point that the settings name, also for one tenant."""
        named = {("channels", channel) for channel, _ in self.channels.accounts()}
        for own in (self, *map(self.of_tenant, self.tenants)):
            named |= {("agents", own.agent.product), *(("tools", name) for name in own.agent.tools)}
            named |= {("hooks", hook.use) for hook in own.hooks if hook.use is not None}
            named |= {("models", link.name.partition(":")[0]) for link in own.model.links()}
            if own.skills is not None:
                named |= {("skills", name) for name in (own.agent.name, *own.skills.plugins)}
        return frozenset(named)

    @property
    def home(self) -> Path:
        """Return the directory of all data."""
        return self.gateway.home

    @property
    def control_path(self) -> Path:
        """Return the control socket of the gateway on this home, which also serves terminals."""
        return self.home / "control.sock"

    @property
    def database_url(self) -> str:
        """Return the database URL that is set, else that of SQLite in the home."""
        if self.gateway.database_url is not None:
            return self.gateway.database_url.get_secret_value()
        return f"sqlite:///{self.home / 'tenk.db'}"

    def secret_values(self) -> frozenset[str]:
        """Return every secret in use, for the redactor; also the password in the database's URL."""
        values = set(_secrets_in(self))
        if password := urlsplit(self.database_url).password:
            values.add(password)
        return frozenset(values)


def load(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """Return the settings from `path`, `secrets.toml` beside it, and the environment, which wins.

    `path=None`: `config/gateway.toml` if it exists.

    Raises:
        SettingsError: a line for each problem, with its place, the key and the nearest right name.
    """
    return settings_of(read_sources(path, environ))


def settings_of(sources: Sources) -> Settings:
    """Return the validated settings of these sources.

    Raises:
        SettingsError: a line for each problem.
    """
    for key, (_, words) in REPLACED.items():
        if sources.sets(key):
            raise SettingsError(f"{sources.place_of(key)}: {'.'.join(key)}: {words}")
    tree = _with_product_defaults(sources.merge_all(), sources.file.path.parent / AGENTS_FOLDER)
    model = settings_model(sources)
    try:
        settings = model.model_validate(tree)
    except ValidationError as error:
        raise explain(model, error, sources) from None
    parts: list[tuple[KeyPath, Settings | TenantConfig]] = [((), settings)]
    for above, own in (*parts, *((("tenants", name), own) for name, own in settings.tenants.items())):
        if own.model is not None:
            check_model(own.model, sources, above)
        if own.agent is not None:
            check_agent(own.agent.product, own.agent.tools, sources, above)
        check_accounts(_accounts_named(own, above), settings.channels, sources)
        in_force = settings.of_tenant(above[-1]) if above else settings
        if in_force.web is not None:
            check_searches(in_force.web, in_force.mcp, sources, above if own.web is not None else ())
    whose: dict[KeyPath, str] = {("channels", "web"): settings.channels.web.tenant}
    whose |= {("channels", channel, own.name): own.tenant for channel, own in settings.channels.accounts()}
    check_tenants(whose, settings.tenants, sources)
    check_tokens(settings.channels.accounts(), sources)
    return settings


def _accounts_named(own: Settings | TenantConfig, above: KeyPath) -> list[KeyPath]:
    """Return the paths of settings that name accounts."""
    personas = () if own.agent is None else own.agent.personas
    agents = () if own.agent is None else own.agent.accounts
    rules = () if own.access is None else own.access.accounts
    return [
        *((*above, "agent", "personas", name) for name in personas),
        *((*above, "agent", "accounts", name) for name in agents),
        *((*above, "access", "accounts", name) for name in rules),
    ]


def settings_model(sources: Sources) -> type[Settings]:
    """Return `Settings` with a table for each configured channel of a plug-in.

    Raises:
        SettingsError: such a channel cannot be imported, or declares no account model.
    """
    configured = sources.merge_all().get("channels")
    names = set(configured if isinstance(configured, dict) else ()) - set(ChannelsConfig.model_fields)
    foreign: dict[str, Any] = {}  # what create_model takes
    for name in sorted(names.intersection(channel_names()) if names else ()):
        try:
            foreign[name] = (Mapping[str, account_model(name)], Field(default_factory=dict))  # type: ignore[misc]  # made here
        except (ChannelNotInstalled, TypeError) as error:
            why = str(error)
        except FLAWS as error:
            why = f"it cannot be imported: {first_words(error)}"
        else:
            continue
        raise SettingsError(f"{sources.place_of(('channels', name))}: channels.{name}: {why}")
    if not foreign:
        return Settings
    channels = create_model("ChannelsConfig", __base__=ChannelsConfig, **foreign)
    return create_model("Settings", __base__=Settings, channels=(channels, channels()))


def read_sources(path: Path | None, environ: Mapping[str, str]) -> Sources:
    """Return files and environment; check only the syntax, and that secrets are in their own file.

    Raises:
        SettingsError: a file cannot be read, or has a secret that does not belong there.
    """
    return sources_of(*read_files(path), environ)


def read_files(path: Path | None, *, is_new: bool = False) -> tuple[ConfigFile, ConfigFile]:
    """Return the main file and the secrets beside it, each empty if it does not exist.

    Raises:
        SettingsError: a named main file does not exist and is not new; or one cannot be read.
    """
    main = path or DEFAULT_FILE
    file = read_file(main)
    if path is not None and not is_new and not path.exists():
        raise SettingsError(f"{path}: there is no such file")
    return file, read_file(main.with_name(SECRETS_NAME), private=True)


def sources_of(main: ConfigFile, secrets: ConfigFile, environ: Mapping[str, str]) -> Sources:
    """Return the files with the settings of the environment.

    Raises:
        SettingsError: a secret is in the main file.
    """
    files = Sources(main, secrets, {})
    model = settings_model(files)
    for key in _leaves(files.file.values):
        if is_secret(model, key):
            raise SettingsError(
                f"{files.place_of(key)}: {'.'.join(key)}: secrets do not belong in this file; "
                f"move it to {files.secrets.path} (mode 0600) or into the environment"
            )
    return Sources(files.file, files.secrets, from_environment(files.merge_all(), environ))


def _with_product_defaults(tree: Tree, agents: Path) -> Tree:
    """Return the tree with defaults below it: the local console and API keys are let in.

    A server without a model's name gets "the only model"; OAuth providers redirect to the public URL; the agents of
    every tenant are in the folder beside the configuration file, if there is one.
    """
    defaults: Tree = {"access": {"accounts": {"console:main": {"direct": "open"}, "api:main": {"direct": "open"}}}}
    http, connect = tree.get("http"), tree.get("connect")
    if isinstance(http, dict) and isinstance(http.get("public_url"), str) and isinstance(connect, dict):
        redirect = {"oauth": {"redirect_url": http["public_url"].rstrip("/") + OAUTH_PATH}}
        with_oauth = {name for name, table in connect.items() if isinstance(table, dict) and "oauth" in table}
        defaults["connect"] = dict.fromkeys(with_oauth, redirect)
    if isinstance(tree.get("model"), dict) and "base_url" in tree["model"]:
        defaults["model"] = {"name": OPENAI_ONLY}
    tenants = tree.get("tenants")
    named = tenants.items() if isinstance(tenants, dict) else ()
    own_defaults = {"access": defaults["access"]}
    if agents.is_dir():
        defaults["agent"] = own_defaults["agent"] = {"folder": str(agents)}
    defaults["tenants"] = {
        name: {table: default for table, default in own_defaults.items() if table in own}
        for name, own in named
        if isinstance(own, dict)
    }
    return merge(defaults, tree)


def _leaves(tree: Tree, above: KeyPath = ()) -> Iterator[KeyPath]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key)


def _secrets_in(value: object) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _secrets_in(getattr(value, name))
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _secrets_in(inner)
