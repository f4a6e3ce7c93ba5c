"""Which keys the environment sets: a variable stands for a key each, some depend on what else is there. Pure."""

from collections.abc import Iterator, Mapping

from gateway.config.sources import KeyPath, Tree

OPENAI_DEFAULT = "openai:gpt-5-mini"
"""The model where OPENAI_API_KEY is set and neither OPENAI_BASE_URL nor TENK_MODEL is."""

OPENAI_ONLY = "openai:*"
"""The model where OPENAI_BASE_URL is set and TENK_MODEL is not: the one that the server has."""

ANTHROPIC_DEFAULT = "anthropic:claude-haiku-5-5"
"""The model where of all providers only ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL is set, and TENK_MODEL is not."""

TELEGRAM_MAIN: KeyPath = ("channels", "telegram", "main")
"""The account that TELEGRAM_BOT_TOKEN makes."""

DISCORD_MAIN: KeyPath = ("channels", "discord", "main")
"""The account that DISCORD_BOT_TOKEN makes."""

SLACK_MAIN: KeyPath = ("channels", "slack", "main")
"""The account that SLACK_BOT_TOKEN makes."""

SHORTHANDS: Mapping[str, KeyPath] = {
    "TENK_HOME": ("gateway", "home"),
    "DATABASE_URL": ("gateway", "database_url"),
    "TENK_SECRET_KEYS": ("gateway", "secret_keys"),
    "TENK_HTTP": ("http", "listen"),
    "TENK_PUBLIC_URL": ("http", "public_url"),
    "TENK_MODEL": ("model", "name"),
    "TENK_ACCESS": ("access", "direct"),
    "TELEGRAM_BOT_TOKEN": (*TELEGRAM_MAIN, "token"),
    "DISCORD_BOT_TOKEN": (*DISCORD_MAIN, "token"),
    "SLACK_BOT_TOKEN": (*SLACK_MAIN, "bot_token"),
    "SLACK_APP_TOKEN": (*SLACK_MAIN, "app_token"),
    "SLACK_SIGNING_SECRET": (*SLACK_MAIN, "signing_secret"),
}
"""Environment variables that stand for one key each; API_BASES and those of MODEL_KEYS depend on what else is set."""

NO_ROLES = "there are no roles any more, every process receives, answers and sends; remove it"

REPLACED: Mapping[KeyPath, tuple[str, str]] = {
    ("gateway", "nats_url"): (
        "NATS_URL",
        "NATS is not used any more, processes wake each other through PostgreSQL; remove it",
    ),
    ("gateway", "role"): ("TENK_ROLE", NO_ROLES),
}
"""Keys of earlier versions, each with its environment variable and what an operator who still sets it reads."""

API_BASES: Mapping[str, tuple[str, str]] = {
    "telegram": ("TELEGRAM_API_BASE", "TELEGRAM_BOT_TOKEN"),
    "discord": ("DISCORD_API_BASE", "DISCORD_BOT_TOKEN"),
    "slack": ("SLACK_API_BASE", "SLACK_BOT_TOKEN"),
}
"""By platform: the variable that moves every account to another server, and the one that makes the account main."""


MODEL_KEYS: Mapping[str, tuple[str, str]] = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
}
"""By wire: the variables of its key and of its server. Without a name the first wire that has one answers."""


BESIDE = ("with_tools", "with_images", "light")
"""Keys of the model whose values are models themselves."""


def from_environment(files: Tree, environ: Mapping[str, str]) -> dict[KeyPath, tuple[str, str]]:
    """What the shorthands set; an empty variable counts as not set."""
    given = {name: value for name, value in environ.items() if value.strip()}
    found = {key: (name, given[name]) for name, key in SHORTHANDS.items() if name in given}
    found |= {key: (name, given[name]) for key, (name, _) in REPLACED.items() if name in given}
    for platform, (base, token) in API_BASES.items():
        if base in given:
            accounts = {*files.get("channels", {}).get(platform, {}), *(["main"] if token in given else [])}
            found |= {("channels", platform, account, "api_base"): (base, given[base]) for account in accounts}
    return found | _model_from_environment(files, given)


def _model_from_environment(files: Tree, given: Mapping[str, str]) -> dict[KeyPath, tuple[str, str]]:
    """Keys of a provider that is not used stay out of the settings."""
    chosen = given.get("TENK_MODEL") or files.get("model", {}).get("name")
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
    """A model behind the first that says neither key nor server has its provider's key."""
    model = files.get("model", {})
    fallback = model.get("fallback")
    fallback = fallback if isinstance(fallback, dict) else {}  # else it is told what is wrong with it
    links: dict[KeyPath, object] = {("model", name): model.get(name) for name in BESIDE}
    links |= {("model", "fallback", name): link for name, link in fallback.items()}
    for path, link in links.items():
        if isinstance(link, dict) and not {"api_key", "base_url"} & set(link):
            names = MODEL_KEYS.get(str(link.get("name")).partition(":")[0])
            if names is not None and names[0] in given:
                yield (*path, "api_key"), (names[0], given[names[0]])
