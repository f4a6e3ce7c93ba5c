"""Levels of credentials: each alone, in sequence, the fallback between them, and their display."""

from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from agent.config import LinkConfig, ProfileConfig
from agent.credentials import Credential, CredentialKind
from agent.errors import FailureKind
from agent.models.credentials import ConfiguredKey, access_of, lead_with, settings_key
from agent.models.failures import failure
from agent.models.health import HealthBoard
from agent.models.link import ModelLink, RetryPolicy
from agent.ports import ModelFacts, ModelRequest, Principal, SystemPrompt
from agent.transcript import ModelResponded, UserItem
from tests.fakes.model_chain import ask

ANA, BEN = (Principal(name, "default") for name in ("ana", "ben"))
REQUEST = ModelRequest(SystemPrompt("be kind"), (UserItem("hello"),), who=ANA)


class Refusing:
    name = "first:m"
    facts = ModelFacts()

    def __init__(self, **refused: FailureKind) -> None:
        self.refused = refused
        self.asked: list[str] = []

    async def respond(self, request, on_event):
        secret = request.credential.secret
        self.asked.append(secret)
        if secret in self.refused:
            raise failure(self.refused[secret], "no")
        return ModelResponded(0, f"with {secret}")

    async def aclose(self):
        pass


class Level:
    def __init__(self, name: str, **keys: str) -> None:
        self.name = name
        self._keys = keys

    async def find(self, who):
        secret = self._keys.get("all") or (self._keys.get(who.user_id) if who is not None else None)
        return None if secret is None else Credential(secret)


OWN = Level("own", ana="own")
SETTINGS = ConfiguredKey(Credential("settings"))
KEYRING, FILE = Level("keyring", all="keyring"), Level("file", all="file")
ALL = (OWN, SETTINGS, KEYRING, FILE)


class Hand:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 4, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def model_over(inner: Refusing, *levels, board=None, clock=None) -> ModelLink:
    board = board or HealthBoard(clock or Hand())
    board.register(inner.name, "")
    return ModelLink(inner, LinkConfig(), board, sources=levels, policy=RetryPolicy(retries=False))


@pytest.mark.parametrize("kind", [FailureKind.RATE_LIMIT, FailureKind.SERVER, FailureKind.BAD_REQUEST])
async def test_what_no_other_key_would_change_is_not_tried_with_another(kind):
    inner = Refusing(own=kind)
    problem, _ = await ask(model_over(inner, *ALL), REQUEST)
    assert (kind, ["own"]) == (problem.kind, inner.asked)


async def test_a_persons_own_key_starts_no_cooldown_for_others():
    board, inner = HealthBoard(Hand()), Refusing(own=FailureKind.AUTH)
    model = model_over(inner, Level("own", ana="own", ben="ben's"), board=board)
    problem, _ = await ask(model, REQUEST)
    answer, _ = await ask(model, ModelRequest(REQUEST.system, REQUEST.items, who=BEN))
    assert (FailureKind.AUTH, "with ben's") == (problem.kind, answer.text)
    assert {"first:m": "ready"} == board.states()


async def test_the_configurations_key_rests_as_the_model():
    board = HealthBoard(Hand())
    await ask(model_over(Refusing(settings=FailureKind.QUOTA), SETTINGS, board=board), REQUEST)
    assert "quota" in board.states()["first:m"]


async def test_without_any_key_it_says_what_to_do():
    problem, _ = await ask(model_over(Refusing(), Level("own"), ConfiguredKey(None)), REQUEST)
    assert (FailureKind.AUTH, True) == (problem.kind, "/connect" in problem.message)


def usual(credential: Credential) -> dict[str, str]:
    return {"x-api-key": credential.secret}


def test_without_a_profile_a_key_is_shown_as_its_provider_documents_it():
    link, headers = LinkConfig(), {"version": "1"}
    assert {"version": "1", "x-api-key": "k"} == access_of(Credential("k"), link, headers, usual).headers
    assert headers == access_of(Credential(""), link, headers, usual).headers


def test_a_profile_says_how_its_kind_is_shown():
    profile = ProfileConfig(
        header="X-Auth",
        form="Token {secret}",
        add_headers={"beta": "on"},
        remove_headers=("VERSION", "User-Agent"),
        query={"v": "2"},
        system=("first", "second"),
    )
    link = LinkConfig(profiles={CredentialKind.OAUTH: profile})
    token = Credential("t", CredentialKind.OAUTH)
    shown = access_of(token, link, {"version": "1"}, usual)
    assert {"X-Auth": "Token t", "beta": "on"} == shown.headers
    assert ({"v": "2"}, ("VERSION", "User-Agent")) == (shown.query, shown.unset)
    assert ("first", "second") == lead_with(REQUEST, token, link).system.leading
    assert "t" not in repr(shown).replace("Access(...)", "")
    assert {"version": "1", "x-api-key": "t"} == access_of(Credential("t"), link, {"version": "1"}, usual).headers
    assert REQUEST is lead_with(REQUEST, Credential("t"), link)


def test_the_kind_of_a_key_is_told_by_its_beginning():
    link = LinkConfig(profiles={CredentialKind.OAUTH: ProfileConfig(token_prefixes=("oat-",))})
    kinds = [settings_key(link.model_copy(update={"api_key": SecretStr(key)})).kind for key in ("oat-1", "sk-1")]
    assert [CredentialKind.OAUTH, CredentialKind.API] == kinds
