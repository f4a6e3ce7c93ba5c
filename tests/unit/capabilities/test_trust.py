"""Trust: operators pin digests, and are told if a thing waits for them or has changed."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.capabilities.base import Capability, CapabilityDeps
from gateway.capabilities.table import Capabilities
from gateway.capabilities.trust import (
    CannotPin,
    Trust,
    TrustSubject,
    digest_of_file,
    digest_of_folder,
    digest_of_texts,
)
from gateway.config.settings import Settings
from gateway.operators.actions import OperationRefused
from gateway.operators.models import TrustName, TrustTerms
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.store import reports
from gateway.store.trusted import TrustKind
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
        old, new = digest_of_texts("old"), digest_of_texts("new")
        assert not bell.is_trusted(SKILL, "scales", old)
        await operators.trust("cli", TrustTerms(kind=SKILL, name="scales", digest=old))
        assert bell.is_trusted(SKILL, "scales", old)
        assert not bell.is_trusted(SKILL, "scales", new)
        assert not bell.is_trusted(SKILL, "scales", "")
        assert not bell.is_trusted(TrustKind.HOOK, "scales", old)
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


def test_any_change_in_a_folder_changes_its_digest(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "SKILL.md").write_text("Practise slowly.")
    (tmp_path / "more" / "run.sh").write_text("true")

    def write_other() -> None:
        (tmp_path / "SKILL.md").write_text("Practise quickly.")

    changes: Sequence[Callable[[], object]] = (
        write_other,
        lambda: (tmp_path / "more" / "run.sh").chmod(0o700),
        lambda: (tmp_path / "more" / "run.sh").rename(tmp_path / "more" / "ran.sh"),
        (tmp_path / "new").touch,
        lambda: (tmp_path / "new").unlink() or (tmp_path / "old").touch(),
    )
    seen = {digest_of_folder(tmp_path)}
    for change in changes:
        change()
        assert digest_of_folder(tmp_path) not in seen
        seen.add(digest_of_folder(tmp_path))
    assert digest_of_folder(tmp_path) in seen


def test_texts_are_not_their_concatenation() -> None:
    assert digest_of_texts("rm", "-r x") != digest_of_texts("rm", "-r", "x")


@pytest.mark.parametrize("make", ["link", "link of a folder", "fifo", "missing", "large"])
def test_what_may_change_unseen_has_no_digest(tmp_path: Path, make: str) -> None:
    folder, elsewhere = tmp_path / "skill", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "run.sh").touch()
    match make:
        case "link":
            (folder / "run.sh").symlink_to(elsewhere / "run.sh")
        case "link of a folder":
            (folder / "more").symlink_to(elsewhere)
        case "fifo":
            os.mkfifo(folder / "run.sh")
        case "missing":
            folder.rmdir()
        case "large":
            with (folder / "run.sh").open("wb") as file:
                file.truncate(50_000_001)
    with pytest.raises(CannotPin):
        digest_of_folder(folder)


def test_a_file_is_pinned_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Be brief.")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert digest_of_file(tmp_path / "AGENTS.md") == digest_of_file(tmp_path / "CLAUDE.md")
    with pytest.raises(CannotPin):
        digest_of_file(tmp_path)


class Plays(Capability):
    def __init__(self) -> None:
        self.found: Sequence[TrustSubject] = ()

    def subjects(self) -> Sequence[TrustSubject]:
        return self.found


async def test_operators_see_what_is_not_trusted_and_tools_are_renewed_when_it_is(tmp_path: Path) -> None:
    nothing: Any = None
    store = await quick_store(tmp_path / "tenk.db")
    try:
        trust, plays = Trust(store), Plays()
        now, long = digest_of_texts("now"), f"/{'deep/' * 50}AGENTS.md"
        plays.found = (
            TrustSubject(SKILL, "scales", now, "instructions of 20 lines"),
            TrustSubject(TrustKind.INSTRUCTIONS, long, "", "it is a link"),
        )
        capabilities = Capabilities(
            Settings(), CapabilityDeps(store, nothing, nothing, trust.of("default")), (lambda *_: plays,)
        )
        operators = Operators(store, b"", lambda: NOON, Reloads(trust))
        changed = asyncio.Event()
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(capabilities.run(changed.set))
            while not capabilities.troubles():
                await asyncio.sleep(0)
            waiting, linked = capabilities.troubles().items()
            assert ("skill:scales", "it is not trusted and does not run: instructions of 20 lines") == waiting
            assert "it cannot be trusted: it is a link" == linked[1]
            assert len(linked[0]) < 120
            assert ["tenk trust add skill:scales", "correct it, or remove it"] == [
                finding.to_do.removeprefix("look at it, then: ") for finding in await capabilities.check_trust()
            ]
            await operators.trust("cli", TrustTerms(kind=SKILL, name="scales", digest=now))
            await changed.wait()
            while capabilities.troubles()["skill:scales"]:
                await asyncio.sleep(0)
            running.cancel()
    finally:
        await store.aclose()
