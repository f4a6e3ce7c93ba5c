"""Rules and modes from those who may not set them, and rules made to hang or to mislead."""

from pathlib import Path

import pytest

from agent.models.scripted import ScriptedModel
from agent.permission_rules import Verdict
from agent.permissions.chain import CallFacts
from gateway.answering import make_permissions
from gateway.coach.product import COACH
from gateway.config.settings import load

POLICY = '[permissions.policy]\ndeny = ["log_*"]\nask = ["undo_last_log"]\n'


@pytest.mark.parametrize("mode", ["default", "bypass"])
def test_a_tenants_table_does_not_allow_what_the_policy_denies_or_asks(tmp_path: Path, mode: str) -> None:
    file = tmp_path / "gateway.toml"
    own = f'[tenants.acme.permissions]\nmode = "{mode}"\nallow = ["*"]\n[tenants.acme.agent]\nallow_tools = ["*"]\n'
    file.write_text(POLICY + own)
    permissions = make_permissions(load(file, {}).of_tenant("acme"), COACH, ScriptedModel([]))
    for tool, verdict in (("log_practice", Verdict.DENY), ("undo_last_log", Verdict.ASK), ("other", Verdict.ALLOW)):
        call = CallFacts(tool=tool, given={}, read_only=False, contained=True)
        assert verdict is permissions.chain.decide(call).verdict
