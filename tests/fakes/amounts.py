"""Number of generated cases of a property: `make test` takes a share of those of `make gate`."""

from hypothesis import settings

LEAST = 5


def share(whole: int) -> int:
    """Return the share of `whole` that the Hypothesis profile of `tests/conftest.py` takes."""
    return max(LEAST, whole * settings.default.max_examples // 100)
