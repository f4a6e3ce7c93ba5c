"""The harness's own texts, in English and Spanish: `gateway/locale`. An agent's own may stand before them."""

from pathlib import Path

from agent.catalogue import Catalogue
from gateway.errors import GatewayError

HARNESS = Catalogue(Path(__file__).parent / "locale", "harness")


class TranslatedError(GatewayError):
    """What was asked makes no sense or may not be; nothing was changed. Its message is English."""

    def __init__(self, words: str, **values: object) -> None:
        """The words, or a key of theirs where people in chats or the console read them, too."""
        super().__init__(HARNESS.text(None, words, **values))
        self._words, self._values = words, values

    def text(self, locale: str | None) -> str:
        """The message for a person with this locale."""
        return HARNESS.text(locale, self._words, **self._values)
