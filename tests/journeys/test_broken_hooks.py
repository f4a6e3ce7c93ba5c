"""Python hooks that end the process or hang, in the gateway as an operator runs it."""

from pathlib import Path

import pytest

from tests.journeys.processes import tenk_run

pytestmark = pytest.mark.timeout(120)

HOOKS = """
import asyncio, sys, time
from pathlib import Path

def check(given):
    Path("calls").open("a").write("x")
    if given["text"] == "exit":
        sys.exit(3)
    if given["text"] == "hang":
        time.sleep(3600)

async def check_async(given):
    Path("calls").open("a").write("y")
    if given["text"] == "exit soon":
        raise GeneratorExit
    if given["text"] == "hang soon":
        await asyncio.gather(*(asyncio.to_thread(time.sleep, 3600) for _ in range(40)))
"""
CONFIG = "".join(
    f'[[hooks]]\npoint = "user_prompt"\npython = "house_rules:{name}"\ntimeout_s = 0.5\n'
    for name in ("check_async", "check")
)
UNCHECKED = "that check does not work right now"


@pytest.mark.gate
def test_broken_hooks_refuse_their_messages_and_the_gateway_serves_on(tmp_path: Path) -> None:
    (tmp_path / "house_rules.py").write_text(HOOKS)
    with tenk_run(tmp_path, tmp_path / "log", CONFIG) as running:
        assert UNCHECKED in running.says("exit soon")
        assert UNCHECKED in running.says("exit")
        assert UNCHECKED not in running.says("what can you do?")
        assert "yyxyx" == (tmp_path / "calls").read_text()
        assert UNCHECKED in running.says("hang")
        assert UNCHECKED in running.says("hang soon")
        assert UNCHECKED in running.says("what can you do?")
        assert running.says("/log 45m guitar").startswith("Logged 45 min")
        assert "yyxyxyxy" == (tmp_path / "calls").read_text(), "a hook that hangs was called again"
        status = running.tenk("status")
        assert [True, True] == [f"hook house rules:{name} user prompt" in status for name in ("check", "check async")]
        running.tenk("reload")
        assert UNCHECKED not in running.says("what can you do?")
        assert "hook house rules" not in running.tenk("status")
