"""The harness's own texts, in English and Spanish: `gateway/locale`. An agent's texts may replace them."""

from pathlib import Path

from agent.catalogue import Catalogue

HARNESS = Catalogue(Path(__file__).parent / "locale", "harness")
