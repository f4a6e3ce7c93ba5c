"""Names of models: the wire each means, and the error for an unknown one."""

import subprocess
import sys

import pytest
from pydantic import SecretStr, ValidationError

from agent.config import AgentConfig, ModelConfig
from agent.models.offline import RuleAnswer
from agent.models.select import ModelDeps, UnknownModel, build_model


class Silence:
    def answer(self, request):
        return RuleAnswer("nothing")


async def test_names_choose_wires():
    assert "offline:rules" == build_model(ModelConfig(), ModelDeps(Silence())).name
    assert "openai:gpt-9" == build_model(ModelConfig(name="openai:gpt-9", api_key=SecretStr("sk-x"))).name
    assert "openai:a:b" == build_model(ModelConfig(name="openai:a:b", base_url="http://127.0.0.1:1")).name


@pytest.mark.parametrize("name", ["", "openai", "openai:", "offline:x", "gemini:pro", "anthropic:claude", "openai:x"])
async def test_what_cannot_work_says_what_to_set(name):
    with pytest.raises(UnknownModel, match=r"openai:NAME|OPENAI_API_KEY|ANTHROPIC_API_KEY"):
        build_model(ModelConfig(name=name), ModelDeps(Silence()))


async def test_offline_needs_rules():
    with pytest.raises(UnknownModel, match="rules"):
        build_model(ModelConfig())


def test_no_wire_is_imported_before_it_is_chosen():
    code = "import sys, agent.loop, agent.models.select; print('aiohttp' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False" == ran.stdout.strip()


@pytest.mark.parametrize("settings", [{"max_stpes": 1}, {"max_steps": 0}, {"deadline_s": -1}])
def test_bad_limits_are_refused(settings):
    with pytest.raises(ValidationError):
        AgentConfig(**settings)


def test_the_key_is_in_no_repr():
    assert "sk-x" not in repr(ModelConfig(api_key=SecretStr("sk-x")))
