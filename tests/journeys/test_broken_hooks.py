"""Python hooks that end the process or hang, in the gateway as an operator runs it."""

from pathlib import Path

import pytest

from tests.journeys.processes import tenk_run

pytestmark = pytest.mark.timeout(200)

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
    Path("calls").open("a").write("x")
    if given["text"] == "exit":
        raise GeneratorExit
    if given["text"] == "hang":
        await asyncio.gather(*(asyncio.to_thread(time.sleep, 3600) for _ in range(40)))
"""
CONFIG = """
[[hooks]]
point = "user_prompt"
python = "house_rules:check"
timeout_s = 0.5
"""
UNCHECKED = "that check does not work right now"


@pytest.mark.parametrize("hook", ["check", "check_async"])
def test_a_hook_that_ends_the_process_refuses_its_message_alone(hook: str, tmp_path: Path) -> None:
    (tmp_path / "house_rules.py").write_text(HOOKS)
    log = tmp_path / "log"
    for _start in range(2):
        with tenk_run(tmp_path, log, CONFIG.replace(":check", f":{hook}")) as running:
            assert UNCHECKED in running.says("exit")
            assert UNCHECKED not in running.says("what can you do?")
    assert "xxxx" == (tmp_path / "calls").read_text()


@pytest.mark.parametrize("hook", ["check", "check_async"])
def test_a_hook_that_hangs_is_not_called_before_a_reload(hook: str, tmp_path: Path) -> None:
    (tmp_path / "house_rules.py").write_text(HOOKS)
    with tenk_run(tmp_path, tmp_path / "log", CONFIG.replace(":check", f":{hook}")) as running:
        assert UNCHECKED in running.says("hang")
        assert UNCHECKED in running.says("what can you do?")
        assert running.says("/log 45m guitar").startswith("Logged 45 min")
        assert "x" == (tmp_path / "calls").read_text()
        assert f"hook house rules:{hook.replace('_', ' ')} user prompt" in running.tenk("status")
        running.tenk("reload")
        assert UNCHECKED not in running.says("what can you do?")
        assert "hook house rules" not in running.tenk("status")
