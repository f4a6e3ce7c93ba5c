"""Tokens: renewed in time, once, and stored where they came from (a row, a keyring, a file)."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from agent.config import KeyFileConfig, KeyringConfig, LinkConfig
from agent.credentials import Credential, CredentialKind
from agent.ports import Principal
from gateway.credentials.config import OAuthConfig
from gateway.credentials.formats import KeptCredential, dump
from gateway.credentials.levels import CredentialLevels, RenewedSource
from gateway.credentials.oauth import NotExchanged
from gateway.credentials.places import FilePlace, KeyringPlace, OwnPlace, PlaceUnreadable
from gateway.safety.vault import Vault
from gateway.store import credentials
from gateway.store.credentials import Connected
from gateway.store.engine import Store
from tests.fakes.practice_reader import add_people
from tests.fakes.spine import quick_store

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
ANA, BEN = (Principal(name, "default") for name in ("ana", "ben"))
OAUTH = OAuthConfig(
    authorize_url="https://a.example/authorize",
    token_url="https://a.example/token",
    client_id="c",
    redirect_url="http://127.0.0.1:1/oauth/callback",
)


def token(secret: str, minutes: float) -> Credential:
    return Credential(secret, CredentialKind.OAUTH, NOW + timedelta(minutes=minutes), f"refresh-{secret}")


class Provider:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refuses = False

    async def renew(self, _config: OAuthConfig, old: Credential) -> Credential:
        self.asked.append(old.refresh_token)
        await asyncio.sleep(0)
        if self.refuses:
            raise NotExchanged("invalid_grant")
        return token(f"new{len(self.asked)}", 60)


class Shelf:
    name = "own"

    def __init__(self, **kept: Credential) -> None:
        self.kept = kept

    async def read(self, who: Principal | None) -> KeptCredential | None:
        await asyncio.sleep(0)
        found = self.kept.get(who.user_id if who is not None else "")
        return None if found is None else KeptCredential(found, {})

    async def write(self, who: Principal | None, old: KeptCredential, new: Credential) -> None:
        assert who is not None
        await asyncio.sleep(0)
        self.kept[who.user_id] = new


def source_of(shelf: Shelf, provider: Provider, oauth: OAuthConfig | None = OAUTH) -> RenewedSource:
    return RenewedSource(shelf, oauth, lambda: NOW, provider.renew)


@pytest.mark.parametrize(("minutes", "renewed"), [(60, 0), (5.1, 0), (5, 1), (1, 1), (-60, 1)])
async def test_a_token_is_renewed_five_minutes_before_it_ends(minutes: float, renewed: int) -> None:
    provider = Provider()
    found = await source_of(Shelf(ana=token("old", minutes)), provider).find(ANA)
    assert found is not None
    assert (renewed, "new1" if renewed else "old") == (len(provider.asked), found.secret)


async def test_fifty_turns_at_once_renew_once_a_person() -> None:
    shelf, provider = Shelf(ana=token("old", 1), ben=token("bens", 1)), Provider()
    source = source_of(shelf, provider)
    async with asyncio.TaskGroup() as group:
        turns = [group.create_task(source.find(who)) for who in [ANA] * 50 + [BEN] * 50]
    assert ["refresh-bens", "refresh-old"] == sorted(provider.asked)
    found = [result.secret for task in turns if (result := task.result()) is not None]
    assert [shelf.kept["ana"].secret] * 50 + [shelf.kept["ben"].secret] * 50 == found


async def test_a_turn_that_is_stopped_does_not_lose_what_the_provider_gave() -> None:
    shelf, provider = Shelf(ana=token("old", 1)), Provider()
    source = source_of(shelf, provider)
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(source.find(ANA))
        while not provider.asked:
            await asyncio.sleep(0)
        turn.cancel()
    await source.aclose()
    assert "new1" == shelf.kept["ana"].secret


async def test_what_cannot_be_renewed_is_used_while_it_lasts() -> None:
    provider = Provider()
    provider.refuses = True
    source = source_of(Shelf(ana=token("old", 1), ben=token("over", -1)), provider)
    assert ["old", "old"] == [found.secret for _ in range(2) if (found := await source.find(ANA))]
    assert [None, None] == [await source.find(BEN) for _ in range(2)]
    assert ["refresh-old", "refresh-over"] == provider.asked
    plain = source_of(Shelf(ana=Credential("key"), ben=Credential("t", CredentialKind.OAUTH, NOW)), provider, None)
    found = await plain.find(ANA)
    assert found is not None
    assert ("key", None, None) == (found.secret, await plain.find(BEN), await plain.find(None))


# ---------------------------------------------------------------- where they are kept


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await quick_store(tmp_path / "tenk.db")
    await store.commit(lambda connection: add_people(connection, ANA, BEN))
    yield store
    await store.aclose()


async def connect(store: Store, vault: Vault, who: Principal, credential: Credential, at: datetime = NOW) -> None:
    sealed = vault.seal(dump(credential), credentials.secret_of("default", who.user_id, "acme"))
    connected = Connected("acme", credential.kind.value, at)
    await store.commit(credentials.put, tenant="default", user_id=who.user_id, connected=connected, sealed=sealed)


async def test_a_persons_own_is_renewed_in_the_database(store: Store) -> None:
    vault, provider = Vault.fresh(), Provider()
    place = OwnPlace(store, vault, "acme")
    source = RenewedSource(place, OAUTH, lambda: NOW, provider.renew)
    assert [None, None] == [await source.find(ANA), await source.find(None)]
    await connect(store, vault, ANA, token("old", 1))
    old = await place.read(ANA)
    found = await source.find(ANA)
    assert found is not None
    assert ("new1", None) == (found.secret, await source.find(BEN))
    vault.take_key(bytes(32))
    done = await store.commit(credentials.reseal_some, vault=vault, after=0, limit=9)
    again = await place.read(ANA)
    assert again is not None
    assert (1, token("new1", 60)) == (done.sealed, again.credential)
    await connect(store, vault, ANA, Credential("key"), NOW + timedelta(seconds=1))
    assert old is not None
    await place.write(ANA, old, token("late", 60))
    replaced = await source.find(ANA)
    assert replaced is not None
    assert "key" == replaced.secret


async def test_a_row_of_another_person_does_not_open(store: Store) -> None:
    vault = Vault.fresh()
    sealed = vault.seal(dump(Credential("canary")), credentials.secret_of("default", "ana", "acme"))
    row = partial(credentials.put, tenant="default", user_id="ben", connected=Connected("acme", "api", NOW))
    await store.commit(row, sealed=sealed)
    place = OwnPlace(store, vault, "acme")
    with pytest.raises(PlaceUnreadable) as refusal:
        await place.read(BEN)
    assert "canary" not in str(refusal.value)
    assert await RenewedSource(place, None, lambda: NOW).find(BEN) is None


async def test_a_file_is_renewed_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    entry = {"type": "oauth", "access": "old", "refresh": "r", "expires": int(NOW.timestamp() * 1000) + 60_000}
    path.write_text(json.dumps({"acme": {"login": entry}, "other": [1]}))
    place = FilePlace(KeyFileConfig(path=path, key="acme.login"), lambda _secret: CredentialKind.API)
    old = await place.read(None)
    found = await RenewedSource(place, OAUTH, lambda: NOW, Provider().renew).find(ANA)
    assert found is not None
    whole = json.loads(path.read_text())
    ends_ms = int((NOW + timedelta(hours=1)).timestamp() * 1000)
    renewed = {"type": "oauth", "access": "new1", "refresh": "refresh-new1", "expires": ends_ms}
    assert ("new1", {"acme": {"login": renewed}, "other": [1]}) == (found.secret, whole)
    assert 0o600 == path.stat().st_mode & 0o777
    assert ["auth.json"] == [one.name for one in tmp_path.iterdir()]
    assert old is not None
    await place.write(None, old, token("late", 60))
    assert whole == json.loads(path.read_text())
    path.write_text("{")
    with pytest.raises(PlaceUnreadable, match="no JSON any more"):
        await place.write(None, old, token("late", 60))


@pytest.mark.parametrize("content", [None, "{}", "not json at all\n", '{"acme": 1}', "\xff"])
async def test_a_file_without_a_key_is_no_level(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "auth.json"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    place = FilePlace(KeyFileConfig(path=path, key="acme"), lambda _secret: CredentialKind.API)
    assert await RenewedSource(place, None, lambda: NOW).find(ANA) is None


class Ring:
    def __init__(self, **entries: str) -> None:
        self.entries = entries
        self.opened = threading.Event()
        self.opened.set()

    def get_password(self, service: str, username: str) -> str | None:
        self.opened.wait()
        assert "tenk" == service
        return self.entries.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[username] = password


def ring_place(ring: Ring, limit_s: float = 30, key: str = "") -> KeyringPlace:
    config = KeyringConfig(service="tenk", accounts=("first", "second"), key=key)
    return KeyringPlace(config, lambda _secret: CredentialKind.API, lambda: ring, limit_s)


async def test_a_keyrings_accounts_are_tried_in_order_and_written_back() -> None:
    ring = Ring(second=dump(token("old", 1)))
    source = RenewedSource(ring_place(ring), OAUTH, lambda: NOW, Provider().renew)
    found = await source.find(ANA)
    assert found is not None
    assert ("new1", ["second"], True) == (found.secret, list(ring.entries), "refresh-new1" in ring.entries["second"])
    ring.entries["first"] = "bare-key"
    bare = await source.find(None)
    assert bare is not None
    assert "bare-key" == bare.secret


@pytest.mark.parametrize("key", ["claudeAiOauth", "claudeAiOauth.accessToken"])
async def test_a_login_inside_a_keyrings_json_is_read_and_renewed_there(key: str) -> None:
    login = {"accessToken": "old", "refreshToken": "refresh-old", "expiresAt": 1_000_000_000_000, "plan": "max"}
    ring = Ring(first=json.dumps({"claudeAiOauth": login, "other": 1}))
    found = await RenewedSource(ring_place(ring, key=key), OAUTH, lambda: NOW, Provider().renew).find(ANA)
    assert found is not None
    assert "new1" == found.secret
    kept = json.loads(ring.entries["first"])
    now = kept["claudeAiOauth"]
    assert (1, "max", "new1", "refresh-new1") == (kept["other"], now["plan"], now["accessToken"], now["refreshToken"])
    assert now["expiresAt"] > login["expiresAt"]
    assert not {"access_token", "refresh_token", "expires_at"} & set(now)


async def test_a_keyring_that_waits_for_input_is_left_alone() -> None:
    ring = Ring(first="key")
    ring.opened.clear()
    place = ring_place(ring, limit_s=0.01)
    for words in ("did not answer", "still has not"):
        with pytest.raises(PlaceUnreadable, match=words):
            await place.read(None)
    assert await RenewedSource(place, None, lambda: NOW).find(ANA) is None
    ring.opened.set()
    place._answered.wait()  # noqa: SLF001  nothing else tells that it has
    kept = await place.read(None)
    assert kept is not None
    assert "key" == kept.credential.secret


async def test_a_keyring_that_breaks_or_is_not_installed_is_no_level() -> None:

    def missing() -> Ring:
        raise ImportError("no keyring")

    config = KeyringConfig(service="tenk", accounts=("a",))
    place = KeyringPlace(config, lambda _secret: CredentialKind.API, missing)
    assert await RenewedSource(place, None, lambda: NOW).find(ANA) is None


def test_the_levels_of_a_link_are_those_that_can_have_a_key(store: Store, tmp_path: Path) -> None:
    levels = CredentialLevels(store, Vault.fresh(), {}, lambda: NOW)
    ring, file = KeyringConfig(service="s", accounts=("a",)), KeyFileConfig(path=tmp_path / "f")
    own_server = {"name": "openai:m", "base_url": "http://127.0.0.1:1/v1"}
    found = {
        "plain": levels.sources(LinkConfig(name="openai:m", api_key="k")),  # type: ignore[arg-type]  pydantic's own
        "server": levels.sources(LinkConfig.model_validate(own_server)),
        "named": levels.sources(LinkConfig.model_validate(own_server | {"provider": "acme"})),
        "all": levels.sources(LinkConfig(name="openai:m", keyring=ring, key_file=file)),
    }
    assert {
        "plain": ["own", "configured"],
        "server": [],
        "named": ["own", "configured"],
        "all": ["own", "configured", "keyring", "file"],
    } == {name: [source.name for source in sources] for name, sources in found.items()}
