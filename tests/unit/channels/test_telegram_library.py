"""The deferred import of aiogram: lighter, complete at first use, and with a way back. Each case is a fresh process."""

import subprocess
import sys

import pytest

USES_MODELS = """
from aiogram.methods import EditMessageText, GetUpdates, SendMessage, SetMessageReaction
from aiogram.methods.base import Response
from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup, Message, ReactionTypeEmoji, ReplyParameters
from aiogram.types import Update

button = InlineKeyboardButton(text="yes", callback_data="y")
send = SendMessage(
    chat_id=1, text="x", reply_markup=InlineKeyboardMarkup(inline_keyboard=[[button]]),
    reply_parameters=ReplyParameters(message_id=1),
)
assert "y" == send.model_dump(warnings=False)["reply_markup"]["inline_keyboard"][0][0]["callback_data"]
assert "z" == EditMessageText(chat_id=1, message_id=1, text="z").text
react = SetMessageReaction(chat_id=1, message_id=2, reaction=[ReactionTypeEmoji(emoji="\\N{EYES}")])
assert "\\N{EYES}" == react.reaction[0].emoji
message = {"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"}, "text": "a"}
answer = Response[list[Update]].model_validate({"ok": True, "result": [{"update_id": 5, "message": message}]})
assert "a" == answer.result[0].message.text
assert isinstance(Response[Message].model_validate({"ok": True, "result": message}).result, Message)
"""

HARDLY_ANY_IS_BUILT = """
import aiogram.types
models = [kind for kind in vars(aiogram.types).values() if isinstance(kind, type) and hasattr(kind, "model_fields")]
assert len(models) > 10 * sum(kind.__pydantic_complete__ for kind in models)
"""

LIGHT = "from channels.telegram.library import load_aiogram\n"


def _run(code: str) -> str:
    """Run code in a process of its own; returns what it printed."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert 0 == done.returncode, done.stderr
    return done.stdout.strip()


@pytest.mark.gate
def test_importing_twice_is_harmless():
    _run(f"{LIGHT}import aiogram\nload_aiogram()\nload_aiogram()\n{USES_MODELS}")


def test_models_work_after_the_light_import_and_pydantic_is_as_it_was():
    _run(
        "from pydantic import BaseModel\n"
        "before = BaseModel.__dict__['model_rebuild']\n"
        f"{LIGHT}load_aiogram()\n"
        "assert before is BaseModel.__dict__['model_rebuild']\n"
        "class Later(BaseModel):\n    other: 'Other'\n"
        "class Other(BaseModel):\n    x: int\n"
        "Later.model_rebuild()\n"
        "assert 1 == Later(other={'x': 1}).other.x\n"
        f"{HARDLY_ANY_IS_BUILT}{USES_MODELS}"
    )


@pytest.mark.gate
def test_light_import_saves_most_of_the_memory():
    measure = (
        "import aiohttp, orjson, pydantic, re\n"
        "def rss():\n    return int(re.search(r'VmRSS:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "before = rss()\n"
        f"{LIGHT}%s\nprint(rss() - before)"
    )
    light, plain = (int(_run(measure % loading)) for loading in ("load_aiogram()", "import aiogram"))
    assert 2 * light < plain


def test_contract_and_registry_import_no_sdk():
    _run(
        "import sys\n"
        "import channels.base, channels.registry, channels.telegram.config, channels.telegram.limits\n"
        "import channels.telegram.translate, channels.simulators.telegram.server\n"
        "assert 'aiogram' not in sys.modules\n"
    )
