"""Roles and the settings that say who may talk to the bot."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

EVERYONE = "*"


class Policy(StrEnum):
    """Treatment of an unknown sender."""

    PAIRING = "pairing"  # the sender gets a code, an operator approves it
    ALLOWLIST = "allowlist"  # only listed senders; an empty list denies everyone
    OPEN = "open"  # every sender


def _check_entry(entry: str) -> str:
    """Validate a list entry; entries are compared exactly."""
    if entry == EVERYONE:
        return entry
    channel, _, identity = entry.partition(":")
    if not channel or not identity or entry != "".join(entry.split()):
        raise ValueError(f'{entry!r} is not an id; write the channel and the platform\'s own id, like "telegram:42"')
    return entry


CanonicalId = Annotated[str, Field(strict=True, max_length=256), AfterValidator(_check_entry)]
"""A channel and the platform's id, like `telegram:42`. Names and user names are never compared."""


class AccountAccess(BaseModel):
    """Access settings of one channel account. None: as in `AccessConfig`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    direct: Policy | None = None
    groups: Policy | None = None
    allow: tuple[CanonicalId, ...] = ()
    allow_groups: tuple[CanonicalId, ...] = ()
    group_talk: bool = True


class LimitsConfig(BaseModel):
    """Limits on what one person may ask for at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    waiting_messages: int = Field(default=200, ge=1, le=10_000)
    messages_per_min: int = Field(default=30, ge=1, le=6000)
    burst_messages: int = Field(default=30, ge=1, le=6000)
    notice_every_s: float = Field(default=60.0, ge=1.0)


class StrangersConfig(BaseModel):
    """Limits on the rows that strangers may cause. No row stores the text of what they say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    burst_messages: int = Field(default=5, ge=1, le=1000)
    messages_per_hour: int = Field(default=20, ge=1, le=36_000)
    newcomers_per_min: int = Field(default=120, ge=1, le=6000)
    account_messages_per_min: int = Field(default=60, ge=1, le=6000)


@dataclass(frozen=True, slots=True)
class Rules:
    """Access rules of one account, with defaults filled in."""

    direct: Policy
    groups: Policy
    allow: frozenset[str]
    allow_groups: frozenset[str]
    group_talk: bool  # store the latest messages of groups as context

    def lists(self, sender_key: str) -> bool:
        """Return True if the sender is listed; ids are compared exactly."""
        return sender_key in self.allow or EVERYONE in self.allow

    def lists_group(self, chat_key: str) -> bool:
        """Return True if the bot answers in this group."""
        return chat_key in self.allow_groups or EVERYONE in self.allow_groups


class AccessConfig(BaseModel):
    """Access rules: defaults, and exceptions by account (`channel:account`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    direct: Policy = Policy.PAIRING
    groups: Policy = Policy.PAIRING
    danger_allow_everyone: bool = False
    accounts: Mapping[str, AccountAccess] = Field(default_factory=dict)
    limits: LimitsConfig = LimitsConfig()
    strangers: StrangersConfig = StrangersConfig()

    @model_validator(mode="after")
    def _lists_mean_what_they_say(self) -> Self:
        for name, account in self.accounts.items():
            channel, _, label = name.partition(":")
            if not channel or not label:
                raise ValueError(
                    f'access.accounts: {name!r} is no account; write "channel:account", like "telegram:main"'
                )
            for entry in (*account.allow, *account.allow_groups):
                self._check_entry(name, channel, entry)
        return self

    def _check_entry(self, name: str, channel: str, entry: str) -> None:
        if entry == EVERYONE:
            if not self.danger_allow_everyone:
                raise ValueError(f'access.accounts."{name}" allows "*"; that needs access.danger_allow_everyone = true')
        elif entry.partition(":")[0] != channel:
            raise ValueError(f'access.accounts."{name}" lists {entry!r}, which can never write to a {channel} account')

    def rules_of(self, channel: str, account: str) -> Rules:
        """Return the rules of one account, with defaults filled in."""
        rules, default = self._filled_in
        return rules.get(f"{channel}:{account}", default)

    @cached_property
    def _filled_in(self) -> tuple[Mapping[str, Rules], Rules]:
        """Compute the rules once, because each event asks for them."""
        rules = {name: self._fill_in(account) for name, account in self.accounts.items()}
        return rules, self._fill_in(AccountAccess())

    def _fill_in(self, own: AccountAccess) -> Rules:
        return Rules(
            direct=own.direct or self.direct,
            groups=own.groups or self.groups,
            allow=frozenset(own.allow),
            allow_groups=frozenset(own.allow_groups),
            group_talk=own.group_talk,
        )


class Role(StrEnum):
    """Role of a person in a tenant."""

    BLOCKED = "blocked"
    MEMBER = "member"
    OPERATOR = "operator"
    OWNER = "owner"

    def allows(self, least: "Role") -> bool:
        """Return True if this role is `least` or higher."""
        return _PLACES[self] >= _PLACES[least]


_PLACES = {role: place for place, role in enumerate(Role)}
