"""Settings from environment variables: most variables stand for one key, some depend on other settings. Pure."""

from collections.abc import Iterator, Mapping

from gateway.config.sources import KeyPath, Tree

OPENAI_DEFAULT = "openai:gpt-5-mini"
"""Model if OPENAI_API_KEY is set, but neither OPENAI_BASE_URL nor TENK_MODEL."""

OPENAI_ONLY = "openai:*"
"""Model if OPENAI_BASE_URL is set, but not TENK_MODEL: the only model of that server."""

ANTHROPIC_DEFAULT = "anthropic:claude-haiku-5-5"
"""Model if only ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL is set."""

TELEGRAM_MAIN: KeyPath = ("channels", "telegram", "main")
"""Account that TELEGRAM_BOT_TOKEN sets up."""

DISCORD_MAIN: KeyPath = ("channels", "discord", "main")
"""Account that DISCORD_BOT_TOKEN sets up."""

SLACK_MAIN: KeyPath = ("channels", "slack", "main")
"""Account that SLACK_BOT_TOKEN sets up."""

SHORTHANDS: Mapping[str, KeyPath] = {
    "TENK_HOME": ("gateway", "home"),
    "DATABASE_URL": ("gateway", "database_url"),
    "TENK_SECRET_KEYS": ("gateway", "secret_keys"),
    "TENK_HTTP": ("http", "listen"),
    "TENK_HTTP_API_KEY": ("http", "api_key"),
    "TENK_PUBLIC_URL": ("http", "public_url"),
    "TENK_MODEL": ("model", "name"),
    "TENK_AGENT_TOKEN": ("agent", "token"),
    "TENK_TRANSCRIPTION_KEY": ("voice", "transcription_key"),
    "TENK_SPEECH_KEY": ("voice", "speech_key"),
    "TENK_ACCESS": ("access", "direct"),
    "TELEGRAM_BOT_TOKEN": (*TELEGRAM_MAIN, "token"),
    "DISCORD_BOT_TOKEN": (*DISCORD_MAIN, "token"),
    "SLACK_BOT_TOKEN": (*SLACK_MAIN, "bot_token"),
    "SLACK_APP_TOKEN": (*SLACK_MAIN, "app_token"),
    "SLACK_SIGNING_SECRET": (*SLACK_MAIN, "signing_secret"),
}
"""Variables that stand for one key each."""

NO_ROLES = "there are no roles any more, every process receives, answers and sends; remove it"

REPLACED: Mapping[KeyPath, tuple[str, str]] = {
    ("gateway", "nats_url"): (
        "NATS_URL",
        "NATS is not used any more, processes wake each other through PostgreSQL; remove it",
    ),
    ("gateway", "role"): ("TENK_ROLE", NO_ROLES),
    ("delivery", "signs"): ("", "use delivery.reactions"),
    ("delivery", "sign_after_s"): ("", "use delivery.reaction_after_s"),
}
"""Keys of earlier versions: environment variable ("": none), and the message for an operator who still sets it."""

API_BASES: Mapping[str, tuple[str, str]] = {
    "telegram": ("TELEGRAM_API_BASE", "TELEGRAM_BOT_TOKEN"),
    "discord": ("DISCORD_API_BASE", "DISCORD_BOT_TOKEN"),
    "slack": ("SLACK_API_BASE", "SLACK_BOT_TOKEN"),
}
"""By platform: the variable with another server for all accounts, and the variable that sets up the account main."""


MODEL_KEYS: Mapping[str, tuple[str, str]] = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
}
"""By wire: the variables of its key and of its server. Without a model's name, the first wire with one is used."""


BESIDE = ("with_tools", "with_images", "light")
"""Keys of the model whose values are models themselves."""


def _table(files: Tree, *path: str) -> Tree:
    """Return a table of the files; an empty one if there is something else, of which validation tells."""
    found: object = files
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def from_environment(files: Tree, environ: Mapping[str, str]) -> dict[KeyPath, tuple[str, str]]:
    """Return the settings of the environment; an empty variable counts as unset."""
    given = {name: value for name, value in environ.items() if value.strip()}
    found = {key: (name, given[name]) for name, key in SHORTHANDS.items() if name in given}
    found |= {key: (name, given[name]) for key, (name, _) in REPLACED.items() if name in given}
    for platform, (base, token) in API_BASES.items():
        if base in given:
            accounts = {*_table(files, "channels", platform), *(["main"] if token in given else [])}
            found |= {("channels", platform, account, "api_base"): (base, given[base]) for account in accounts}
    return found | _model_from_environment(files, given)


def _model_from_environment(files: Tree, given: Mapping[str, str]) -> dict[KeyPath, tuple[str, str]]:
    """Return the model's settings, only for the provider in use."""
    chosen = given.get("TENK_MODEL") or _table(files, "model").get("name")
    there = next((wire for wire, names in MODEL_KEYS.items() if not given.keys().isdisjoint(names)), None)
    wire = there if chosen is None else str(chosen).partition(":")[0]
    if wire is None or wire not in MODEL_KEYS:
        return {}
    fields = zip(("api_key", "base_url"), MODEL_KEYS[wire], strict=True)
    found: dict[KeyPath, tuple[str, str]] = {
        ("model", field): (name, given[name]) for field, name in fields if name in given
    }
    if chosen is None:
        is_own = wire == "openai" and MODEL_KEYS["openai"][1] in given
        default = OPENAI_ONLY if is_own else OPENAI_DEFAULT if wire == "openai" else ANTHROPIC_DEFAULT
        found["model", "name"] = (next(iter(found.values()))[0], default)
    return found | dict(_other_links_from_environment(files, given))


def _other_links_from_environment(files: Tree, given: Mapping[str, str]) -> Iterator[tuple[KeyPath, tuple[str, str]]]:
    """Yield the provider's key for each further model that has neither key nor server."""
    model, fallback = _table(files, "model"), _table(files, "model", "fallback")
    links: dict[KeyPath, object] = {("model", name): model.get(name) for name in BESIDE}
    links |= {("model", "fallback", name): link for name, link in fallback.items()}
    for path, link in links.items():
        if isinstance(link, dict) and not {"api_key", "base_url"} & set(link):
            names = MODEL_KEYS.get(str(link.get("name")).partition(":")[0])
            if names is not None and names[0] in given:
                yield (*path, "api_key"), (names[0], given[names[0]])
