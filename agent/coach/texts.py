"""The coach's own texts, in English and Spanish: `agent/coach/locale`. They go before the harness's."""

from pathlib import Path

from agent.catalogue import Catalogue

COACH_TEXTS = Catalogue(Path(__file__).parent / "locale", "coach")
