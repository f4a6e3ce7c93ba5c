"""The light import of discord.py: two modules, the rest when asked for, a way back. Each case is a fresh process."""

import subprocess
import sys

LIGHT = "from channels.discord.lazy_import import load_discord\n"

COUNTED = "import sys\nprint(len([name for name in sys.modules if name.startswith('discord')]) < 20)\n"

USES_ALL = """
import discord
from discord.ext import commands
assert discord.Client.__module__ == "discord.client"
assert discord.http.HTTPClient is HTTPClient
assert discord.__version__.startswith("2.")
discord.Client(intents=discord.Intents.none())
"""

BROKEN_ONCE = """
import sys

class BreaksOnce:
    broken = False

    def find_spec(self, name, path=None, target=None):
        if name == "discord.http" and not BreaksOnce.broken:
            BreaksOnce.broken = True
            raise ImportError("the first try fails")
        return None

sys.meta_path.insert(0, BreaksOnce())
"""


def _run(code: str) -> str:
    """Run code in a process of its own; returns what it printed."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert 0 == done.returncode, done.stderr
    return done.stdout.strip()


def test_little_is_loaded():
    """The adapter needs the HTTP client and the gateway socket, with what those import."""
    assert "True\nTrue" == _run(f"{LIGHT}print(load_discord())\n{COUNTED}")
    assert "True" == _run(f"import channels.discord.adapter\n{COUNTED}")


def test_plain_discord_code_works_afterwards():
    """Whatever else is asked for runs the package's own `__init__`, with the same submodules."""
    assert "True" == _run(f"{LIGHT}print(load_discord())\nfrom discord.http import HTTPClient\n{USES_ALL}")


def test_importing_twice_is_harmless():
    """A second call, or one after a plain import, changes nothing."""
    code = (
        f"{LIGHT}import discord\nfrom discord.http import HTTPClient\nprint(load_discord(), load_discord())\n{USES_ALL}"
    )
    assert "False False" == _run(code)


def test_a_failed_light_import_falls_back():
    """If the trick fails, discord.py is imported as it comes."""
    code = f"{BROKEN_ONCE}{LIGHT}print(load_discord())\nfrom discord.http import HTTPClient\n{USES_ALL}"
    assert "False" == _run(code)
