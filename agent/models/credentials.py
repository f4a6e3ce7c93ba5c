"""Sources of a model's credentials, and their headers.

The gateway implements the sources (`gateway.credentials`). A credential is sent in the form of its profile, or as the
provider documents it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from agent.config import LinkConfig, ProfileConfig
from agent.credentials import Credential, CredentialKind
from agent.ports import ModelRequest, Principal

OWN = "own"
"""Name of the source with people's own credentials."""


class CredentialSource(Protocol):
    """One source: the person's own key, the configuration's, a keyring's, a file's."""

    name: str  # for operators: "own", "configured", "keyring", "file"

    async def find(self, who: Principal | None) -> Credential | None:
        """Return the credential for this person, valid for some minutes, or None.

        Never raises: a credential that cannot be read or renewed is logged and counts as None.
        """
        ...


class ConfiguredKey:
    """The key of the settings: the environment's or the secrets file's."""

    name = "configured"

    def __init__(self, credential: Credential | None) -> None:
        """None: no key. An empty secret is for a server that needs none."""
        self._credential = credential

    async def find(self, who: Principal | None) -> Credential | None:
        return self._credential


NO_PROFILE = ProfileConfig()


Shown = Callable[[Credential], Mapping[str, str]]
"""Returns the headers in which a provider takes a credential."""


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """The headers and the query of one request."""

    headers: Mapping[str, str]
    query: Mapping[str, str]
    unset: tuple[str, ...]  # headers that the client must not set by itself
    secret: str  # removed from every error
    place: str = ""  # of the credential

    def __repr__(self) -> str:
        return "Access(...)"


def access_of(
    credential: Credential,
    config: LinkConfig,
    headers: Mapping[str, str],
    usual: Callable[[Credential], Mapping[str, str]],
) -> Access:
    """Return headers and query for a credential; `headers` are the wire's, `usual` the provider's form without a
    profile.
    """
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
    """Return the key of the settings; its prefix tells its kind."""
    key = config.api_key.get_secret_value().strip() if config.api_key is not None else ""
    return Credential(key, kind_of(key, config))


def kind_of(secret: str, config: LinkConfig) -> CredentialKind:
    """Return the kind by the profiles' prefixes; a key if none fits."""
    for kind, profile in config.profiles.items():
        if secret.startswith(profile.token_prefixes or ("\0",)):
            return kind
    return CredentialKind.API


def is_showable(secret: str) -> bool:
    """Return True if a header can hold it."""
    return secret.isascii() and (not secret or secret.isprintable())
