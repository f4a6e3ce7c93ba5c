"""Sources of a model's credential, and how a server is shown one.

The gateway implements the sources (`gateway.credentials`). A credential goes to a server in the form of its profile,
or as the provider documents it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from agent.config import LinkConfig, ProfileConfig
from agent.credentials import Credential, CredentialKind
from agent.ports import ModelRequest, Principal

OWN = "own"
"""The name of the source that has people's own credentials."""


class CredentialSource(Protocol):
    """One level: the person's own, the configuration's, a keyring's, a file's."""

    name: str  # for operators: "own", "configured", "keyring", "file"

    async def find(self, who: Principal | None) -> Credential | None:
        """Return the credential for this person, valid for some minutes, or None.

        Never fails: a credential that cannot be read or renewed is logged and counts as None.
        """
        ...


class ConfiguredKey:
    """The key of the settings: the environment's, or the secrets file's."""

    name = "configured"

    def __init__(self, credential: Credential | None) -> None:
        """None: there is none. One with an empty secret is for a server that asks for nothing."""
        self._credential = credential

    async def find(self, who: Principal | None) -> Credential | None:
        """Return the same for everybody."""
        return self._credential


NO_PROFILE = ProfileConfig()


Shown = Callable[[Credential], Mapping[str, str]]
"""The headers in which a provider takes a credential."""


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """The headers and the URL of one request."""

    headers: Mapping[str, str]
    query: Mapping[str, str]
    unset: tuple[str, ...]  # headers that the client would set by itself, and is not to
    secret: str  # kept out of every error
    place: str = ""  # as of the credential

    def __repr__(self) -> str:
        return "Access(...)"


def access_of(
    credential: Credential,
    config: LinkConfig,
    headers: Mapping[str, str],
    usual: Callable[[Credential], Mapping[str, str]],
) -> Access:
    """`headers` are those of the wire, `usual` how its provider takes a credential where no profile says so."""
    profile = config.profiles.get(credential.kind, NO_PROFILE)
    shown = usual(credential) if credential.secret else {}
    if credential.secret and profile.header is not None:
        shown = {profile.header: profile.form.replace("{secret}", credential.secret)}
    gone = {name.lower() for name in profile.remove_headers}
    every = {**headers, **shown, **profile.add_headers}
    kept = {name: value for name, value in every.items() if name.lower() not in gone}
    return Access(kept, profile.query, profile.remove_headers, credential.secret, credential.place)


def lead_with(request: ModelRequest, credential: Credential, config: LinkConfig) -> ModelRequest:
    """Return the request with the leading blocks that the kind's profile asks for."""
    profile = config.profiles.get(credential.kind, NO_PROFILE)
    return replace(request, system=replace(request.system, leading=profile.system)) if profile.system else request


def settings_key(config: LinkConfig) -> Credential:
    """Return the settings' own key; its kind is told by its beginning."""
    key = config.api_key.get_secret_value().strip() if config.api_key is not None else ""
    return Credential(key, kind_of(key, config))


def kind_of(secret: str, config: LinkConfig) -> CredentialKind:
    """By the prefixes of the profiles; a key where none fits."""
    for kind, profile in config.profiles.items():
        if secret.startswith(profile.token_prefixes or ("\0",)):
            return kind
    return CredentialKind.API


def is_showable(secret: str) -> bool:
    """Return whether a header can hold it."""
    return secret.isascii() and (not secret or secret.isprintable())
