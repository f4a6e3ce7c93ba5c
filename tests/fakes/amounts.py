"""How many generated cases a property gets: `make test` takes a share of the whole, which `make gate` tries."""

from hypothesis import settings

LEAST = 5


def share(whole: int) -> int:
    """So many of `whole`, by the profile in `tests/conftest.py`."""
    return max(LEAST, whole * settings.default.max_examples // 100)
