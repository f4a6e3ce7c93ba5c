"""Alerts: owners hear of a trouble once, and once of its end; a restart keeps that."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from agent.errors import FailureKind
from agent.hooks.chain import HookChain
from agent.ports import ModelFailure
from channels.base import ChannelState
from channels.messages import Address, Rendered
from gateway.capabilities.base import CapabilityDeps
from gateway.capabilities.table import Capabilities
from gateway.config.settings import Settings
from gateway.errors import StoreUnavailable
from gateway.ops.alerts import ALERTS, Alert, OwnerAlerts, Review, review
from gateway.ops.instrumentation import ModelWatch
from gateway.ops.status import GatewayStatus, ModelHealth, Trouble, tenant_of
from gateway.shared import Shared
from gateway.store import outbox, people, reports
from gateway.store.budgets import CapUse
from gateway.store.causes import AnswerOf, Notice, Undelivered
from gateway.store.outbox import Action, OutboxPart
from gateway.store.people import Newcomer
from gateway.store.tables.traffic import chats as chats_table
from gateway.supervision import Faults
from gateway.texts import HARNESS
from tests.fakes.chat import FakeChannel, FakeChannels
from tests.fakes.people import NOON, OnConnection, database, minutes
from tests.fakes.spine import quick_store

DOWN = Trouble("channel", "telegram:main", "no route")
KEY = Trouble("model", "openai:x", "refused", at_once=True, text="key")


class Owners:
    def __init__(self) -> None:
        self.known: dict[str, Alert] = {}
        self.told: list[tuple[float, str]] = []

    def look(self, minute: float, **found: Trouble | None) -> None:
        """Look at what is wrong at this minute; `channel` and `key` are known by their keys."""
        keys = {"channel": DOWN.key, "key": KEY.key, "letters": "letters"}
        result: Review = review({keys[name]: each for name, each in found.items()}, self.known, NOON + minutes(minute))
        self.known |= {alert.key: alert for alert in result.changed}
        for key in result.ended:
            del self.known[key]
        self.told += [
            (minute, f"{each.alert.key.split()[0]}{'' if each.trouble else ' over'}") for each in result.messages
        ]


def test_a_channel_that_is_down_for_long_is_told_once_and_its_end_once() -> None:
    owners = Owners()
    for minute in (0, 0.5, 1, 2, 30, 300):
        owners.look(minute, channel=DOWN)
    owners.look(301)
    owners.look(302, channel=None)
    owners.look(303, channel=None)
    assert [(1, "channel"), (302, "channel over")] == owners.told
    assert {} == owners.known


def test_what_is_well_again_at_once_is_not_told() -> None:
    owners = Owners()
    owners.look(0, channel=DOWN)
    owners.look(0.5, channel=None)
    owners.look(1, channel=None)
    assert ([], {}) == (owners.told, owners.known)


def test_what_comes_and_goes_is_told_once_an_hour() -> None:
    owners = Owners()
    for minute in range(180):
        owners.look(minute, channel=DOWN if minute % 5 < 3 else None)
    assert [
        (1, "channel"),
        (3, "channel over"),
        (61, "channel"),
        (63, "channel over"),
        (121, "channel"),
        (123, "channel over"),
    ] == owners.told


def test_a_model_that_fails_and_then_refuses_its_key_answers_again_once() -> None:
    watch, known, told = ModelWatch(lambda: NOON), dict[str, Alert](), list[str]()
    health = ModelHealth(dict, watch)
    failures = [FailureKind.SERVER] * 6 + [FailureKind.AUTH, FailureKind.SERVER, FailureKind.AUTH]
    for minute, kind in enumerate([*failures, None]):
        if kind is None:
            watch.note_response("openai:x")
        else:
            watch.note_failure("openai:x", ModelFailure(kind, "no"))
        troubles = {trouble.key: trouble for trouble in health.troubles()}
        result = review(troubles or {KEY.key: None}, known, NOON + minutes(minute))
        known |= {alert.key: alert for alert in result.changed}
        told += [f"{minute}: {each.trouble.text if each.trouble else 'over'}" for each in result.messages]
    assert ["3: model", "6: key", "9: over"] == told


def test_what_was_told_is_kept() -> None:
    alert = Alert("channel telegram:main", NOON, NOON + timedelta(minutes=1), None, 4)
    with database() as connection:
        for kept in (alert, Alert("model m", NOON), replace(alert, over_at=NOON)):
            ALERTS.put(connection, kept)
        assert [replace(alert, over_at=NOON), Alert("model m", NOON)] == ALERTS.find(connection)


def test_letters_that_failed_are_counted_without_alerts_and_apologies() -> None:
    with database() as connection:
        assert reports.FailedLetters(0, 0, 0, "nobody noted why") == reports.failed_letters(connection)
        for number, (cause, state) in enumerate(
            [
                (AnswerOf("turn"), "dead"),
                (AnswerOf("other"), "unknown"),
                (Notice("alert", "1"), "dead"),
                (Undelivered("turn"), "dead"),
                (AnswerOf("sent"), "sent"),
            ]
        ):
            part = OutboxPart(cause, 0, 0, Action.SEND, Address("sim", "main", "1"), Rendered("x"), "x")
            outbox.put(connection, "default", [part], NOON)
            connection.exec_driver_sql(
                "UPDATE outbox SET state = ?, error = ? WHERE id = ?", (state, f"error {number}", number + 1)
            )
        assert reports.FailedLetters(1, 1, 2, "error 1") == reports.failed_letters(connection)


@pytest.mark.parametrize("kind", ["capability", "channel", "estimates", "key", "model", "letters", "trust", "versions"])
@pytest.mark.parametrize("locale", ["en", "es"])
def test_each_trouble_has_its_words(kind: str, locale: str) -> None:
    values = {"name": "telegram:main", "why": "no route", "minutes": 5, "dead": 2, "unknown": 1}
    told = HARNESS.text(locale, f"alerts.{kind}", **values)
    over = HARNESS.text(locale, f"alerts.{'model' if kind == 'key' else kind}_over", **values)
    assert ("no route" in told, "tenk" in told, "✅" in over) == (True, kind != "versions", True)


class Accounts:
    def __init__(self, **states: ChannelState) -> None:
        self._states = states

    def reports(self, _tenant: str | None = None) -> dict[str, tuple[ChannelState, str]]:
        return {f"{name}:main": (state, f"{state.value} why") for name, state in self._states.items()}


async def test_what_is_wrong_is_found_where_it_can_be_known() -> None:
    accounts = Accounts(a=ChannelState.READY, b=ChannelState.STARTING, c=ChannelState.DEGRADED, d=ChannelState.FAILED)
    watch = ModelWatch(lambda: NOON)
    watch.note_failure("openai:x", ModelFailure(FailureKind.QUOTA, "no credit"))
    watch.note_failure("openai:y", ModelFailure(FailureKind.SERVER, "broke"))
    watch.note_response("openai:z")
    model = ModelHealth(dict, watch)
    with database() as connection:
        tenants = {"default": Asks()}
        standing = GatewayStatus(shared(OnConnection(connection), accounts), tenants, None, model, Faults(), NOON)
        found = await standing.troubles()
    assert {
        "channel a:main": None,
        "channel c:main": False,
        "channel d:main": True,
        "model openai:x": True,
        "model openai:z": None,
        "estimates openai:z": None,
        "price openai:z": None,
        "trust": None,
        "letters": None,
        **{f"budget {shared}": None for shared in ("day", "tenant", "a:main", "b:main", "c:main", "d:main")},
    } == {key: None if trouble is None else trouble.at_once for key, trouble in found.items()}


class NoCaps:
    async def used_up(self, _tenant: str | None) -> list[CapUse]:
        return []


class Asks:
    def __init__(self, *models: str) -> None:
        self.model_names = frozenset(models)
        self.lost_prices: dict[str, str] = {}
        self.hooks = HookChain()
        self.budgets: Any = NoCaps()
        nothing: Any = None
        deps = CapabilityDeps(nothing, nothing, nothing, nothing)
        self.capabilities: Any = Capabilities(Settings(), deps, makers=())


def shared(store: Any, channels: Any) -> Shared:
    nothing: Any = None
    return Shared(store, channels, nothing, nothing, nothing, nothing, nothing, nothing)


class Waits:
    def __init__(self, waiting: Sequence[str] | None) -> None:
        self.waiting = waiting

    def troubles(self) -> dict[str, str]:
        return {"mcp": "the server is down", "web": ""}

    def list_untrusted(self) -> Sequence[str] | None:
        return self.waiting


async def test_owners_hear_of_what_waits_for_trust_in_one_message_however_much_it_is(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    tenants = {"default": Asks(), "bell": Asks(), "new": Asks()}
    tenants["default"].capabilities = Waits([f"skill:{name}" for name in ("a", "b", "c", "d", 300 * "e")])
    tenants["bell"].capabilities = Waits(())
    tenants["new"].capabilities = Waits(None)
    found = await GatewayStatus(shared(store, Accounts()), tenants, None, ModelHealth(), Faults(), NOON).troubles()
    await store.aclose()
    trust, broken = found["trust"], found["capability mcp"]
    assert trust is not None and broken is not None
    assert ("skill:a, skill:b, skill:c and 2 more", 5, "the server is down") == (trust.why, trust.level, broken.why)
    assert (None, None) == (found["trust @bell"], found["capability web"])
    assert "trust @new" not in found, "at a start it is not known what waits"


class OfTenants(Accounts):
    def reports(self, tenant: str | None = None) -> dict[str, tuple[ChannelState, str]]:
        both = {"telegram:main": "default", "telegram:bell": "bell"}
        return {name: (ChannelState.FAILED, "no token") for name, own in both.items() if tenant in (None, own)}


class Beside:
    does_chores = True

    async def troubles(self) -> dict[str, str]:
        return {"versions": "old/1 runs 0.1; new/2 runs 0.2"}

    async def status(self) -> dict[str, JsonValue]:
        return {}


async def test_each_trouble_is_a_tenants(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    watch = ModelWatch(lambda: NOON)
    for model in ("openai:ours", "openai:bells"):
        watch.note_failure(model, ModelFailure(FailureKind.AUTH, "no such key"))
    watch.note_response("openai:bells-spare")
    dead = OutboxPart(AnswerOf("t1"), 0, 0, Action.SEND, Address("telegram", "bell", "42"), Rendered("x"), "x")

    def die(connection: sa.Connection) -> None:
        (row,) = outbox.put(connection, "bell", [dead], NOON)
        connection.execute(sa.update(outbox.outbox).where(outbox.outbox.c.id == row.id).values(state="dead", error="e"))

    await store.commit(die)
    tenants = {"default": Asks("openai:ours"), "bell": Asks("openai:bells", "openai:bells-spare"), "cole": Asks()}
    model = ModelHealth(dict, watch)
    standing = GatewayStatus(shared(store, OfTenants()), tenants, Beside(), model, Faults(), NOON)
    found = await standing.troubles()
    assert {
        "channel telegram:main": "default",
        "channel telegram:bell @bell": "bell",
        "model openai:ours": "default",
        "model openai:bells @bell": "bell",
        "letters @bell": "bell",
        "versions": "default",
    } == {key: trouble.tenant for key, trouble in found.items() if trouble is not None}
    well = {key for key, trouble in found.items() if trouble is None}
    of_spare = {f"{kind} openai:bells-spare @bell" for kind in ("model", "estimates", "price")}
    caps = {"budget day", "budget tenant", "budget tenant @bell", "budget tenant @cole"}
    caps |= {"budget telegram:main", "budget telegram:bell @bell"}
    assert {"letters", "letters @cole", "trust", "trust @bell", "trust @cole", *of_spare, *caps} == well
    assert ["bell", "default"] == [tenant_of(key) for key in ("letters @bell", "letters")]
    bells = standing.of("bell")
    assert {"channel telegram:bell", "letters"} == set(await bells.troubles())
    await store.aclose()


async def test_a_tenants_owners_hear_of_its_troubles_and_of_no_others(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    bells = replace(KEY, tenant="bell")
    found: dict[str, Trouble | None] = {}

    async def look() -> dict[str, Trouble | None]:
        return found

    async def told() -> tuple[set[str], ...]:
        await owners.look()
        both = [await store.read(partial(reports.outbox_lines, tenant=each, limit=9)) for each in ("bell", "default")]
        return tuple({line.chat for line in lines} for lines in both)

    now = (NOON + minutes(minute) for minute in range(100))
    owners = OwnerAlerts(store, look, FakeChannels(FakeChannel()), lambda: next(now))  # type: ignore[arg-type]  # what it asks
    found[bells.key] = bells
    assert (set(), set()) == await told()
    await store.commit(an_owner)
    assert (set(), {"42"}) == await told()
    await store.commit(an_owner, tenant="bell", chat="43")
    found = {bells.key: None, "letters @bell": Trouble("letters", "", "gone", at_once=True, level=1, tenant="bell")}
    assert ({"43"}, {"42"}) == await told()
    assert 2 == len(await store.read(ALERTS.find))
    await store.aclose()


async def test_an_alert_without_a_recipient_does_not_count_as_told(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    found: list[dict[str, Trouble | None] | StoreUnavailable] = [{KEY.key: KEY}, {KEY.key: KEY}, StoreUnavailable("no")]

    async def look() -> dict[str, Trouble | None]:
        result = found.pop(0)
        if isinstance(result, StoreUnavailable):
            raise result
        return result

    channel = FakeChannel()
    owners = OwnerAlerts(store, look, FakeChannels(channel), lambda: NOON)  # type: ignore[arg-type]  # what it asks
    await owners.look()
    assert [] == await store.read(ALERTS.find)
    await store.commit(an_owner)
    await owners.look()
    said = await store.read(lambda connection: reports.outbox_lines(connection, "default", 9))
    assert ["42"] == [line.chat for line in said]
    with pytest.raises(StoreUnavailable):
        await owners.look()
    await store.aclose()


def an_owner(connection: sa.Connection, tenant: str = "default", chat: str = "42") -> None:
    person = people.enrol(connection, Newcomer(tenant, f"sim:{chat}", "sim:main", "Ana", "owner", "cli"), NOON)
    connection.execute(
        sa.insert(chats_table),
        {
            "tenant_id": tenant,
            "channel": "sim",
            "account": "main",
            "chat": chat,
            "thread": "",
            "direct": True,
            "user_id": person.user_id,
            "heard_at": NOON,
        },
    )
