"""Errors of the agent by name."""

from enum import StrEnum

from agent.catalogue import Catalogue


class FailureKind(StrEnum):
    """The nine kinds of model error."""

    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"  # out of credit: an operator must act
    AUTH = "auth"
    OVERLOADED = "overloaded"
    SERVER = "server"
    NETWORK = "network"  # refused, reset, cut off, or not valid HTTP
    TIMEOUT = "timeout"  # no byte for too long
    CONTEXT = "context"  # the request is longer than the window
    BAD_REQUEST = "bad_request"  # anything else the provider refuses; also an unknown model


class Fenced(Exception):
    """Another process owns the session: this process must not write the turn any more."""


class Refused(Exception):
    """A refusal with words for the person: a command, a tool or a hook raises it, and changes nothing.

    Of a command and of a hook on messages the person reads the words; of a tool and of a hook on tools the model does.
    """

    def __init__(self, words: str, /, **values: object) -> None:
        """Take a text with fields like `{zone}`, or its key in the agent's texts, and the values of its fields."""
        super().__init__(words)
        self._words, self._values = words, values

    def text(self, texts: Catalogue, locale: str | None) -> str:
        """Return the words in a person's language, if the catalogue has them in it."""
        return texts.text(locale, self._words, **self._values)
