"""The channel accounts in the settings, and the construction of their channels."""

import hmac
from collections.abc import Mapping
from functools import partial
from typing import Protocol

from channels.api.adapter import ApiChannel
from channels.base import Channel, NamesCommands
from channels.clocks import steady_now
from channels.messages import DEFAULT_TENANT
from channels.registry import AccountConfig, load_channel, make_channel
from channels.web.config import Guests, WebAccount
from gateway.access.agents import AgentChoice
from gateway.access.config import Policy, Role
from gateway.access.policy import AccessSnapshot, is_let_in
from gateway.command_set import describe_slack_app
from gateway.commands.table import CommandTable
from gateway.config.settings import ChannelsConfig
from gateway.inbound.connections import ChannelAccount
from gateway.inbound.web_records import StoredRecords, unread
from gateway.product import AgentProduct
from gateway.store.engine import Store


class OwnsAccounts(Protocol):
    """Tenant of an account."""

    @property
    def name(self) -> str: ...

    @property
    def store(self) -> Store: ...

    @property
    def product(self) -> AgentProduct: ...

    @property
    def table(self) -> CommandTable: ...

    @property
    def agents(self) -> AgentChoice: ...


def visitors_key(key: bytes) -> bytes:
    """Return the key of the cookies by which the web chat knows browsers; `key` is the home's."""
    return hmac.digest(key, b"tenk web visitors v1", "sha256")


class ConfiguredAccounts:
    """Configured accounts; a channel is made when its account first runs."""

    def __init__(
        self, tenants: Mapping[str, OwnsAccounts], people: AccessSnapshot, key: bytes, api_channel: ApiChannel
    ) -> None:
        """Take the home's key; the web chat identifies its visitors with one derived from it."""
        self._tenants = tenants
        self._people = people
        self._key = key
        self._api_channel = api_channel

    def list_accounts(self, channels: ChannelsConfig) -> list[ChannelAccount]:
        accounts = [
            ChannelAccount(
                channel,
                config.name,
                partial(self._make_platform, channel, config),
                config.pacing == "strict",
                config.tenant,
                config,
                everywhere=getattr(config, "mode", "") in {"webhook", "http"},
            )
            for channel, config in channels.accounts()
        ]
        if channels.web.enabled:
            make_web = partial(self._make_web, channels.web)
            accounts.append(ChannelAccount("web", "main", make_web, tenant=channels.web.tenant))
        if channels.api.enabled:
            accounts.append(ChannelAccount("api", "main", lambda: self._api_channel, tenant=None))
        if channels.console.enabled:
            accounts.append(ChannelAccount("console", "main", self._make_console))
        return accounts

    def _make_platform(self, name: str, config: AccountConfig) -> Channel:
        channel = make_channel(name, config)
        if isinstance(channel, NamesCommands):
            tenant = self._tenants[config.tenant]
            channel.name_commands(describe_slack_app(tenant.product).commands, tenant.table.specs())
        return channel

    def _make_web(self, config: WebAccount) -> Channel:
        tenant, people = self._tenants[config.tenant], self._people

        def is_guest(chat: str) -> bool:
            rules = people.rules_of(tenant.name).rules_of("web", "main")
            return is_let_in(people, rules, tenant.name, f"web:{chat}", "web:main")

        def is_known(chat: str) -> bool:
            return people.find(tenant.name, f"web:{chat}") is not None

        def may_send_files(chat: str) -> bool:
            rules = people.rules_of(tenant.name).rules_of("web", "main")
            person = people.find(tenant.name, f"web:{chat}")
            is_heard = rules.direct is Policy.OPEN and person is not None and person.role != Role.BLOCKED
            return is_heard or is_guest(chat)

        channel: Channel = load_channel("web")(
            config,
            texts=tenant.product.catalogue,
            guests=Guests(is_known=is_known, is_let_in=is_guest, may_send_files=may_send_files),
            records=StoredRecords(tenant.store, tenant.agents, steady_now, tenant.name),
            key=visitors_key(self._key),
        )
        return channel

    def _make_console(self) -> Channel:
        tenant = self._tenants[DEFAULT_TENANT]
        channel: Channel = load_channel("console")(partial(unread, tenant.store, tenant.name, steady_now))
        return channel
