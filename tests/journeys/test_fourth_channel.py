"""A third-party channel, installed beside the gateway and configured like any other."""

from pathlib import Path

import pytest

from tests.journeys.house import house

EXAMPLE = Path(__file__).parents[1] / "contract" / "example_channel"


async def test_a_channel_that_only_an_entry_point_knows_is_configured_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    letters, answers = tmp_path / "in", tmp_path / "out" / "ada"
    letters.mkdir()
    answers.mkdir(parents=True)
    config = f'[channels.letterbox.main]\ndirectory = "{tmp_path}"\n'
    async with house(tmp_path, model=None, config=config) as here:
        (letters / "000001-ada.txt").write_text("/log 45m guitar")
        here.sim.add_chat(1, "private")
        here.sim.say(1, "/log 20m piano")
        await here.told(1, "20 min")
        await here.until(lambda: any(answers.iterdir()), "an answer to the letter")
        (answer,) = answers.iterdir()
        assert answer.read_text().startswith("Logged 45 min")
