"""The harness's own texts, in English and Spanish: `gateway/locale`. An agent's texts may replace them."""

from pathlib import Path

from agent.catalogue import Catalogue
from gateway.errors import GatewayError

HARNESS = Catalogue(Path(__file__).parent / "locale", "harness")


class TranslatedError(GatewayError):
    """Error: the request is invalid or not allowed; nothing was changed. Its message is English."""

    def __init__(self, words: str, **values: object) -> None:
        """Take the message, or its text key if people in chats or the console read it, too."""
        super().__init__(HARNESS.text(None, words, **values))
        self._words, self._values = words, values

    def text(self, locale: str | None) -> str:
        """Return the message for a person with this locale."""
        return HARNESS.text(locale, self._words, **self._values)
