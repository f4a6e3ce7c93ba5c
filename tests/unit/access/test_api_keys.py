"""Keys of the API: their form, their digests, and their scopes."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.access.api_keys import digest_of, id_of, make_key, opens
from gateway.operators.actions import OperationRefused
from gateway.operators.models import KeyTerms
from gateway.operators.process import AccessChange, DetachedProcess
from gateway.operators.service import Operators
from gateway.safety.redaction import REDACTED, Redactor
from gateway.store import people, reports
from gateway.store.api_keys import KEYS
from gateway.store.people import Newcomer
from tests.fakes.spine import quick_store

NOW = datetime(2026, 11, 22, 18, 0, tzinfo=UTC)
SCOPES = frozenset({"chat"})


def test_a_key_has_sixteen_random_bytes_and_names_its_row() -> None:
    made = [make_key("test", SCOPES, None, "cli", NOW) for _ in range(50)]
    texts = [text for _, text in made]
    assert 50 == len(set(texts)) == len({key.id for key, _ in made})
    assert {32} == {len(text.split("-")[2]) for text in texts}
    assert all(key.id == id_of(text) and key.digest == digest_of(text) for key, text in made)
    assert all(text.split("-")[2] not in repr(key) for key, text in made)


def test_only_the_key_itself_opens_as_long_as_it_holds() -> None:
    key, text = make_key("test", SCOPES, None, "cli", NOW)
    other, _ = make_key("test", SCOPES, None, "cli", NOW)
    assert opens(key, text)
    assert not any(opens(key, wrong) for wrong in ("", text[:-1], f"{text} ", text.upper(), "\ud800"))
    assert not opens(other, text)
    assert not opens(None, text)
    assert not opens(None, "")
    assert not opens(replace(key, revoked_at=NOW), text)


@pytest.mark.parametrize("text", ["", "tenk-", "tenk-aaaaaaaa-zz", "tenk-AAAAAAAA-" + "0" * 32, "x" * 10_000, "tenk-é"])
def test_what_is_no_key_names_no_row(text: str) -> None:
    assert "" == id_of(text)


def test_a_key_in_a_text_is_taken_out() -> None:
    _, text = make_key("test", SCOPES, None, "cli", NOW)
    assert f"mine is {REDACTED}." == Redactor().redact(f"mine is {text}.")


async def test_keys_are_made_listed_and_revoked(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    try:
        operators = Operators(store, b"", lambda: NOW, DetachedProcess())
        made = await operators.create_key("cli", KeyTerms(name=" my\x1b program ", scopes=("chat", "read")))
        (listed,) = (await operators.list_keys("cli")).keys
        await operators.revoke_key("cli", made.id)
        with pytest.raises(OperationRefused, match="already"):
            await operators.revoke_key("cli", made.id)
        (revoked,) = (await operators.list_keys("cli")).keys
        found = await store.read(lambda connection: KEYS.get(connection, id=made.id))
        audit = [row.action for row in await store.read(reports.audit_log)]
    finally:
        await store.aclose()
    assert "key" not in listed.model_dump()
    assert {**listed.model_dump(), "key": made.key} == made.model_dump()
    assert (("chat", "read"), None, NOW) == (made.scopes, listed.revoked_at, revoked.revoked_at)
    assert found is not None
    assert not opens(found, made.key)
    assert ["api_key_revoked", "api_key_created"] == audit


@pytest.mark.parametrize(
    ("name", "scopes", "who", "why"),
    [
        ("  ", "chat", "", "name"),
        ("a", "", "", "is not a scope"),
        ("a", "chat root", "", "root is not a scope"),
        ("a", "chat", "telegram:42", "not a known person"),
    ],
)
async def test_a_key_that_makes_no_sense_is_not_made(
    tmp_path: Path, name: str, scopes: str, who: str, why: str
) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    try:
        operators = Operators(store, b"", lambda: NOW, DetachedProcess())
        with pytest.raises(OperationRefused, match=why):
            await operators.create_key("cli", KeyTerms(name=name, scopes=tuple(scopes.split()), who=who))
        assert () == (await operators.list_keys("cli")).keys
    finally:
        await store.aclose()


class Heard(DetachedProcess):
    def __init__(self, changed: list[people.Person]) -> None:
        super().__init__()
        self._changed = changed

    def announce(self, change: AccessChange) -> None:
        if change.person is not None:
            self._changed.append(change.person)


async def test_a_key_for_a_person_is_an_identity_of_theirs(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    changed: list[people.Person] = []
    try:
        ana = Newcomer("default", "telegram:42", "telegram:main", "Ana", "member", "cli")
        await store.commit(lambda connection: people.enrol(connection, ana, NOW))
        operators = Operators(store, b"", lambda: NOW, Heard(changed))
        made = await operators.create_key("cli", KeyTerms(name="mine", who="telegram:42"))
    finally:
        await store.aclose()
    (person,) = changed
    assert {"telegram:42", f"api:{made.id}:owner"} == person.identities
    assert person.user_id == made.speaks_for
