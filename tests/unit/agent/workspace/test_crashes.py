"""Changes of files in a turn that is killed at each of its commits: each is made once."""

import json
from pathlib import Path

import pytest

from agent.config import AgentConfig
from agent.loop import Agent, run_turn
from agent.models.scripted import Says, ScriptedModel, calls
from agent.transcript import EndReason, ToolItem
from gateway.texts import HARNESS
from tests.fakes.turn_port import ANA, NOW, Died, FakeTurnPort, a_turn
from tests.fakes.workspace import Rig, make_rig

EDIT = calls(("edit_file", json.dumps({"path": "notes.txt", "old": "a", "new": "aa"})))
WRITE = calls(("write_file", json.dumps({"path": "new.txt", "content": "new"})))


def an_agent(rig: Rig) -> Agent:
    def answer(request):
        done = sum(isinstance(item, ToolItem) for item in request.items)
        return [EDIT, WRITE, Says("The end.")][done]

    names = ("edit_file", "write_file")
    return Agent(
        model=ScriptedModel(answer),
        tools=tuple(rig.tools[name] for name in names),
        prompt=lambda *_: {},
        texts=HARNESS,
        limits=AgentConfig(allow_tools=names),
        clock=lambda: NOW,
    )


@pytest.mark.parametrize("dies_after", [False, True])
@pytest.mark.parametrize("dies_at", range(7))
async def test_a_change_is_made_once(tmp_path: Path, dies_at: int, dies_after: bool) -> None:
    port = FakeTurnPort(dies_at=dies_at, dies_after=dies_after)
    rig = make_rig(tmp_path)
    folder = rig.config.root / ANA.tenant / ANA.user_id
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("a")
    is_over = False
    while not is_over:
        try:
            is_over = EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, an_agent(rig))
        except* Died:
            port.dies_at = None
            rig = make_rig(tmp_path)  # a new process remembers no versions
    assert ["aa", "new"] == [(folder / name).read_text() for name in ("notes.txt", "new.txt")]
    assert ["new.txt", "notes.txt"] == sorted(path.name for path in folder.iterdir())
    assert all('"success":true' in event.content for event in port.events if hasattr(event, "content"))
