"""`/connect`: people connect their own accounts at model providers, in direct messages only.

Keys arrive sealed (`gateway.access.pasted`); here they are opened, checked with one cheap call, and sealed as the
person's. No reply contains them.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import structlog

from agent.catalogue import escape
from agent.config import LinkConfig
from agent.credentials import Credential, CredentialKind
from agent.errors import FailureKind
from agent.mcp.config import McpServerConfig
from agent.models.credentials import is_showable, kind_of
from agent.models.select import OWN_WIRES, check_credential
from agent.ports import ModelFailure
from channels.base import CommandOption
from channels.clocks import wall_now
from gateway.access.pasted import CONNECT, secret_of
from gateway.commands.base import Command, HelpGroup, Invocation, Reply, Write
from gateway.commands.session import person_changed
from gateway.credentials.config import ConnectConfig, OAuthConfig
from gateway.credentials.formats import dump
from gateway.credentials.oauth import NotExchanged, OAuthFlows, authorize_url, exchange
from gateway.safety.vault import CannotOpen, Vault
from gateway.store import credentials, people
from gateway.store.credentials import Connected
from gateway.store.engine import Connection, Store

log = structlog.get_logger()

OFF = "off"
QUOTES = "\"'`<>“”‘’«»"
"""Quotation marks that may be copied with a key."""

AUTO = frozenset(("auto", "default", "automático", "automatico"))

TITLES = {"openai": "OpenAI"}
"""Names with an unusual spelling."""

REFUSED = frozenset({FailureKind.AUTH})
UNREACHED = frozenset({FailureKind.NETWORK, FailureKind.TIMEOUT, FailureKind.SERVER, FailureKind.OVERLOADED})
"""Failures that tell nothing about the key; all others mean that the provider accepted it."""

Check = Callable[[LinkConfig, Credential], Awaitable[None]]
"""Function that checks a credential with one cheap call; raises ModelFailure."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Provider that people can connect to."""

    title: str  # for people
    link: LinkConfig | None  # of its first model; None: an MCP server, at which a key cannot be checked
    oauth: OAuthConfig | None = None


@dataclass(frozen=True, slots=True)
class Connecting:
    """Dependencies of the command; by default there are no providers."""

    vault: Vault = field(default_factory=Vault.fresh)
    providers: Mapping[str, Provider] = field(default_factory=dict)
    check: Check = check_credential
    clock: Callable[[], datetime] = wall_now
    models: Sequence[str] = ()  # models that people can choose, the default first


async def choose_model(names: Sequence[str], asked: Invocation) -> Reply | Write:
    """Show which model answers the person and which others there are, or choose one by its name or a part of it."""
    who, wanted, models = asked.principal, asked.arguments.strip().casefold(), tuple(dict.fromkeys(names))
    if len(models) < 2:
        return Reply(asked.say("commands.model_only", name=escape(models[0]) if models else "offline"))
    if wanted in AUTO:
        return Write(_set_model, asked, None, models[0])
    found = [name for name in models if name.casefold() == wanted]
    found = found or [name for name in models if wanted in name.casefold()]
    if wanted and len(found) == 1:
        return Write(_set_model, asked, found[0], found[0])
    now = who.model if who.model in models else models[0]
    rows = "\n".join(f"- **{escape(name)}**" if name == now else f"- {escape(name)}" for name in models)
    return Reply(asked.say("commands.model_unknown" if wanted else "commands.model", rows=rows))


def _set_model(connection: Connection, asked: Invocation, model: str | None, shown: str) -> Reply:
    people.set_model(connection, asked.principal.user_id, model)
    return Reply(asked.say("commands.model_set", name=escape(shown)), changed=person_changed(connection, asked))


def model_command(connecting: Connecting) -> Command:
    """Return `/model` over the models that people choose from."""
    choose = partial(choose_model, connecting.models)
    return Command(
        "model", "menu.model", choose, options=(CommandOption("name", "menu.model.name"),), group=HelpGroup.ACCOUNT
    )


def connect_command(store: Store, connecting: Connecting) -> Command:
    """Return `/connect` over the providers that there are."""
    options = (CommandOption("provider", "menu.connect.provider"), CommandOption("key", "menu.connect.key"))
    return Command(
        CONNECT, "menu.connect", _Connect(store, connecting).handle, options=options, group=HelpGroup.ACCOUNT
    )


class _Connect:
    """Handlers of `/connect`."""

    def __init__(self, store: Store, connecting: Connecting) -> None:
        self._vault = connecting.vault
        self._providers = connecting.providers
        self._check = connecting.check
        self._flows = OAuthFlows(store, connecting.vault, connecting.clock)

    async def handle(self, asked: Invocation) -> Reply | Write:
        """Handle the command; its row is blanked in any case."""
        if not asked.direct:
            return await self._refuse_in_group(asked)
        try:
            given = self._open(asked).split()
        except CannotOpen:
            return _say(asked, "connect.again")
        match given:
            case []:
                return await self._list(asked)
            case [word, name] if word.lower() == OFF and (known := self._find(name)):
                return Write(_disconnect, asked, known, self._providers[known].title)
            case [name] if known := self._find(name):
                return await self._begin(asked, known)
            case [*_, word] if (found := await self._flow_of(asked, given[:-1], word)) is not None:
                return await self._finish(asked, *found)
            case [name, secret] if known := self._find(name):
                return await self._connect(asked, known, secret.strip(QUOTES))
        return await self._ask_which(asked)

    def _find(self, word: str) -> str:
        """Return the name of the provider or MCP server that a word means; "" if there is none."""
        names = (word.lower(), provider_of_server(word.lower()))
        return next((name for name in names if name in self._providers), "")

    def _open(self, asked: Invocation) -> str:
        return (
            self._vault.open(asked.arguments, secret_of(asked.principal.tenant, asked.sender))
            if asked.arguments
            else ""
        )

    async def _refuse_in_group(self, asked: Invocation) -> Reply:
        """Refuse the command in a group, where others may have read the key."""
        said = [asked.say("connect.direct_only")]
        if asked.arguments:
            said += [asked.say("connect.seen"), await self._deletion(asked)]
        return Reply("\n\n".join(each for each in said if each), redact=True)

    async def _deletion(self, asked: Invocation) -> str:
        """Delete the person's message and return a text about it; "" without a message."""
        deleted = await asked.session.delete_message()
        if deleted is None:
            return ""
        return asked.say("connect.deleted" if deleted else "connect.delete_it")

    async def _list(self, asked: Invocation) -> Reply:
        who = asked.principal
        if not self._providers:
            return _say(asked, "connect.nothing")
        query = partial(credentials.list_connected, tenant=who.tenant, user_id=who.user_id)
        connected = {each.provider: each for each in await asked.store.read(query, lasting=True)}
        rows = []
        for name, provider in self._providers.items():
            since = connected[name].connected_at.date().isoformat() if name in connected else ""
            state = "connect.row_on" if name in connected else "connect.row_off"
            rows.append(asked.say(state, title=provider.title, name=name, since=since))
        return _say(asked, "connect.list", rows="\n".join(f"- {row}" for row in rows))

    async def _ask_which(self, asked: Invocation) -> Reply:
        """Ask for a provider without repeating the given text, which may be a key."""
        names = ", ".join(self._providers)
        said = asked.say("connect.nothing")
        if names:
            said = asked.say("connect.which", names=names)
        return Reply("\n\n".join(each for each in (said, await self._deletion(asked)) if each), redact=True)

    async def _begin(self, asked: Invocation, name: str) -> Reply:
        """Explain how to give a key, or where to authorize."""
        oauth = self._providers[name].oauth
        if oauth is None:
            return _say(asked, "connect.how", name=name)
        flow = await self._flows.begin(asked.principal, name)
        url = authorize_url(oauth, flow.state, flow.verifier)
        return _say(asked, "connect.authorize", title=self._providers[name].title, url=url, name=name)

    async def _flow_of(self, asked: Invocation, before: Sequence[str], word: str) -> tuple[str, str, bool] | None:
        """Return code and state if the person gave a code, and True if it stands alone, as it may be a key then."""
        if not any(provider.oauth for provider in self._providers.values()):
            return None
        code, hashed, state = word.partition("#")
        if hashed:
            return code, state, False
        name = self._find(before[0]) if len(before) == 1 else ""
        known = self._providers.get(name)
        flow = await self._flows.of_person(asked.principal, name) if known is not None else None
        alone = known is not None and known.oauth is not None and known.oauth.code_format == "code"
        return (code, flow.state, True) if alone and flow is not None else None

    async def _finish(self, asked: Invocation, code: str, state: str, alone: bool) -> Reply | Write:
        """Exchange a code, once, for the person who began the flow."""
        flow = await self._flows.redeem(asked.principal, state)
        provider = self._providers.get(flow.provider) if flow is not None else None
        if flow is None or provider is None or provider.oauth is None:
            return _say(asked, "connect.stale")
        try:
            credential = await exchange(provider.oauth, code, state, flow.verifier)
        except NotExchanged as problem:
            log.warning("code_not_exchanged", provider=flow.provider, error=str(problem))
            if alone and await self._find_flaw(provider, code) is None:
                return await self._keep(asked, flow.provider, Credential(code, _kind_of(code, provider)))
            return _say(asked, "connect.not_exchanged", title=provider.title, name=flow.provider)
        return await self._keep(asked, flow.provider, credential)

    async def _keep(self, asked: Invocation, name: str, credential: Credential) -> Write:
        """Store the credential as theirs, and delete their message."""
        who = asked.principal
        done = asked.say("connect.done", title=self._providers[name].title)
        sealed = self._vault.seal(dump(credential), credentials.secret_of(who.tenant, who.user_id, name))
        text = "\n\n".join(each for each in (done, await self._deletion(asked)) if each)
        return Write(_keep_credential, asked, name, credential.kind.value, sealed, text)

    async def _connect(self, asked: Invocation, name: str, secret: str) -> Reply | Write:
        provider = self._providers[name]
        key = await self._find_flaw(provider, secret)
        if key is None:
            return await self._keep(asked, name, Credential(secret, _kind_of(secret, provider)))
        said = asked.say(key, title=provider.title)
        return Reply("\n\n".join(each for each in (said, await self._deletion(asked)) if each), redact=True)

    async def _find_flaw(self, provider: Provider, secret: str) -> str | None:
        """Return the key of the text that says why the credential is refused; None if it is accepted or cannot be
        checked.
        """
        if not is_showable(secret):
            return "connect.unusable"
        if provider.link is None:
            return None
        try:
            await self._check(provider.link, Credential(secret, _kind_of(secret, provider)))
        except ModelFailure as failure:
            if failure.kind in REFUSED:
                return "connect.refused"
            return "connect.unchecked" if failure.kind in UNREACHED else None
        return None


def _say(asked: Invocation, key: str, **values: str) -> Reply:
    return Reply(asked.say(key, **values), redact=True)


def _keep_credential(
    connection: Connection, asked: Invocation, provider: str, kind: str, sealed: str, said: str
) -> Reply:
    """Store the credential, replacing the person's earlier one."""
    connected = Connected(provider, kind, asked.clock())
    credentials.put(connection, asked.principal.tenant, asked.principal.user_id, connected, sealed)
    return Reply(said, redact=True)


def _disconnect(connection: Connection, asked: Invocation, provider: str, title: str) -> Reply:
    """Delete the person's credential."""
    had = credentials.remove(connection, asked.principal.tenant, asked.principal.user_id, provider)
    return Reply(asked.say("connect.off" if had else "connect.off_none", title=title), redact=True)


def _kind_of(secret: str, provider: Provider) -> CredentialKind:
    return CredentialKind.API if provider.link is None else kind_of(secret, provider.link)


def provider_of_server(server: str) -> str:
    """Return the name under which people's accounts at an MCP server are kept; no model's provider has it."""
    return f"mcp:{server}"


def servers_to_connect(
    servers: Mapping[str, McpServerConfig], connect: Mapping[str, ConnectConfig]
) -> Mapping[str, Provider]:
    """Return the MCP servers at which each person has an account of their own."""
    found: dict[str, Provider] = {}
    for name, server in servers.items():
        if server.per_person and server.enabled:
            known = connect.get(name, ConnectConfig())
            found[provider_of_server(name)] = Provider(known.title or name, None, known.oauth)
    return found


def providers_of(links: Sequence[LinkConfig], connect: Mapping[str, ConnectConfig]) -> Mapping[str, Provider]:
    """Return the providers by name, in the order of the links, for our own wires."""
    found: dict[str, Provider] = {}
    for link in links:
        name = link.connects_to if link.name.partition(":")[0] in OWN_WIRES else None
        if name is not None:
            known = connect.get(name, ConnectConfig())
            found.setdefault(name, Provider(known.title or TITLES.get(name, name.title()), link, known.oauth))
    return found
