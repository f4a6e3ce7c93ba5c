"""Ten thousand generated answers through the splitter, on Telegram's terms."""

import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from channels.base import Limits, TextUnit
from channels.telegram.render import TelegramRenderer
from gateway.delivery.splitting import ORPHAN, split
from tests.fakes.markdown_documents import Document, documents
from tests.fakes.telegram_entities import faults

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

ROUNDS = pytest.mark.parametrize("fuzz_round", range(10))  # Hypothesis keeps in memory what one round generated
FUZZED = settings(
    max_examples=500, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
TELEGRAM = TelegramRenderer()


@ROUNDS
@FUZZED
@given(document=documents(), max_text=st.integers(150, 4096))
def test_every_generated_document_arrives_whole(fuzz_round: int, document: Document, max_text: int):
    """Each part is one Telegram takes, none is an orphan, and together they say every word once and in order."""
    max_text = max(max_text, len(document.text) // 20)
    parts = split(document.text, TELEGRAM, Limits(max_text=max_text, unit=TextUnit.UTF16))
    assert [] == [fault for part in parts for fault in faults(part.rendered, max_text)]
    assert document.words == re.findall(r"w\d+", " ".join(part.plain for part in parts))
    if len(parts) > 1 and max_text >= 300:
        assert ORPHAN <= TextUnit.UTF16.measure(parts[-1].rendered.text)


@ROUNDS
@FUZZED
@given(text=st.text(st.sampled_from("abc XYZ\n\t*_~#>-+|[]()!<&;\\`.123😀é\u0301\u05d0\u200d\ud83d"), max_size=3000))
def test_every_generated_noise_arrives_valid(fuzz_round: int, text: str):
    """Whatever stands in an answer, Telegram takes the parts."""
    for part in split(text, TELEGRAM, Limits(max_text=300, unit=TextUnit.UTF16)):
        assert [] == faults(part.rendered, 300)
