"""Facts of a model: config before the table, the table before a careful guess."""

import subprocess
import sys

import pytest

from agent.config import ModelConfig
from agent.models.facts import UNKNOWN_WINDOW_TOKENS, facts_of
from agent.ports import ModelFacts

LOCAL = "http://127.0.0.1:11434/v1"
ROUTER = "https://openrouter.ai/api/v1"


@pytest.mark.parametrize(
    ("name", "config", "window_tokens"),
    [
        ("openai:gpt-5-mini", {}, 400_000),
        ("openai:gpt-4o-mini", {}, 128_000),
        ("anthropic:claude-haiku-4-5-20251001", {}, 200_000),
        ("anthropic:claude-haiku-5-5", {}, 1_000_000),
        ("openai:anthropic/claude-haiku-4.5", {"base_url": ROUTER}, 200_000),
        ("openai:no-such-model", {}, UNKNOWN_WINDOW_TOKENS),
        ("openai:gpt-5-mini", {"base_url": "https://models.example/v1"}, UNKNOWN_WINDOW_TOKENS),
        ("openai:gpt-5-mini", {"base_url": LOCAL}, UNKNOWN_WINDOW_TOKENS),
        ("openai:gpt-5-mini", {"context_window_tokens": 8000}, 8000),
        ("openai:llama3", {"base_url": LOCAL, "context_window_tokens": 8000}, 8000),
    ],
)
def test_the_window_is_what_config_or_the_table_says(name, config, window_tokens):
    assert window_tokens == facts_of(name, ModelConfig(**config)).context_window_tokens


@pytest.mark.parametrize(
    ("config", "facts"),
    [
        ({"base_url": LOCAL}, ModelFacts(sees_images=False)),
        ({"base_url": LOCAL, "sees_images": True}, ModelFacts(sees_images=True)),
        ({"context_window_tokens": 128_000}, ModelFacts(sees_images=True)),
        ({"base_url": LOCAL, "takes_tools": False, "max_output_tokens": 500}, ModelFacts(128_000, 500, False, False)),
    ],
)
def test_the_rest_is_what_config_says(config, facts):
    assert facts == facts_of("openai:some", ModelConfig(**config))


def test_the_table_is_read_when_it_is_asked():
    code = (
        "import sys; from agent.config import ModelConfig; from agent.models.openai import OpenAIModel;"
        f"OpenAIModel('x', ModelConfig(base_url={LOCAL!r})).facts; print('genai_prices' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False" == ran.stdout.strip()
