"""Trust: operators pin digests, and are told if a thing waits for them or has changed."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.capabilities.base import Capability, CapabilityDeps
from gateway.capabilities.table import Capabilities
from gateway.capabilities.trust import Trust, TrustSubject
from gateway.config.settings import Settings
from gateway.operators.actions import OperationRefused
from gateway.operators.models import TrustName, TrustTerms
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.store import reports
from gateway.store.trusted import TrustKind
from gateway.supervision import Faults, Supervised
from tests.fakes.people import NOON
from tests.fakes.spine import quick_store

SKILL = TrustKind.SKILL


class Reloads(DetachedProcess):
    def __init__(self, trust: Trust) -> None:
        super().__init__()
        self.reload_trust = trust.load  # type: ignore[method-assign]  # as the running process does


async def test_a_digest_is_trusted_until_it_changes_or_an_operator_takes_it_back(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    try:
        trust = Trust(store)
        bell, own = trust.of("bell"), trust.of("default")
        operators = Operators(store.of("bell"), b"", lambda: NOON, Reloads(trust))
        old, new = 64 * "a", 64 * "b"
        assert not bell.is_trusted(SKILL, "scales", old)
        await operators.trust("cli", TrustTerms(kind=SKILL, name="scales", digest=old))
        assert bell.is_trusted(SKILL, "scales", old)
        assert not bell.is_trusted(SKILL, "scales", new)
        assert not bell.is_trusted(TrustKind.WORKSPACE, "scales", old)
        assert not own.is_trusted(SKILL, "scales", old)
        states = [bell.state_of(TrustSubject(SKILL, "scales", digest, "")) for digest in (old, new)]
        assert ["trusted", "changed"] == states
        await operators.trust("cli", TrustTerms(kind=SKILL, name="scales", digest=new))
        (row,) = (await operators.list_trusted("cli")).trusted
        assert ("bell", "skill", new, "cli") == (row.tenant, row.kind, row.digest, row.trusted_by)
        assert not bell.is_trusted(SKILL, "scales", old)
        await operators.distrust("cli", TrustName(kind=SKILL, name="scales"))
        assert not bell.is_trusted(SKILL, "scales", new)
        with pytest.raises(OperationRefused, match="skill:scales is not trusted"):
            await operators.distrust("cli", TrustName(kind=SKILL, name="scales"))
        audit = [(entry.action, entry.subject) for entry in await store.read(reports.audit_log)]
        assert [("distrusted", "skill:scales"), *2 * [("trusted", "skill:scales")]] == audit
    finally:
        await store.aclose()


class Plays(Capability):
    needs_trust = True

    def __init__(self) -> None:
        self.found: Sequence[TrustSubject] = ()

    def subjects(self) -> Sequence[TrustSubject]:
        return self.found


async def test_operators_see_what_is_not_trusted_and_tools_are_renewed_when_it_is(tmp_path: Path) -> None:
    nothing: Any = None
    store = await quick_store(tmp_path / "tenk.db")
    try:
        trust, plays = Trust(store), Plays()
        digest = 64 * "a"
        plays.found = (TrustSubject(SKILL, "my scales", digest, "instructions of 20 lines"),)
        deps = CapabilityDeps(store, nothing, nothing, trust.of("default"))
        capabilities = Capabilities(Settings(), deps, (lambda *_: plays,))
        operators = Operators(store, b"", lambda: NOON, Reloads(trust))
        changed = asyncio.Event()
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(run()) for run in capabilities.work(changed.set)]
            while not capabilities.list_untrusted():
                await asyncio.sleep(0)
            assert ("skill:my scales",) == capabilities.list_untrusted()
            (finding,) = await capabilities.check_trust()
            assert "it is not trusted and does not run: instructions of 20 lines" == finding.words
            assert finding.to_do.endswith("tenk trust add 'skill:my scales' --digest aaaaaaaaaaaa")
            await operators.trust("cli", TrustTerms(kind=SKILL, name="my scales", digest=digest))
            await changed.wait()
            while capabilities.list_untrusted():
                await asyncio.sleep(0)
            assert [""] == [each.to_do for each in await capabilities.check_trust()]
            plays.found = (TrustSubject(SKILL, "my scales", 64 * "b", "instructions of 21 lines"),)
            (finding,) = await capabilities.check_trust()
            assert "it has changed since it was trusted and does not run: instructions of 21 lines" == finding.words
            for task in running:
                task.cancel()
    finally:
        await store.aclose()


class Breaks(Plays):
    async def run(self, changed: Callable[[], None]) -> None:
        raise ValueError("it broke")


class Works(Plays):
    async def run(self, changed: Callable[[], None]) -> None:
        await asyncio.sleep(0)  # the other one breaks first
        changed()


async def test_a_capability_that_breaks_ends_no_other(tmp_path: Path) -> None:
    nothing: Any = None
    store = await quick_store(tmp_path / "tenk.db")
    deps = CapabilityDeps(store, nothing, nothing, Trust(store).of("default"))
    capabilities = Capabilities(Settings(), deps, (lambda *_: Breaks(), lambda *_: Works()))
    changed, faults = asyncio.Event(), Faults()
    try:
        async with asyncio.timeout(30), Supervised(faults) as tasks:
            kept = [tasks.keep_task("capabilities", run) for run in capabilities.work(changed.set)]
            await changed.wait()
            for task in kept:
                task.cancel()
        assert 1 == faults.noted
    finally:
        await store.aclose()
