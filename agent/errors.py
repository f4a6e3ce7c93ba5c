"""Each thing that can go wrong in the agent has a name; no handling lives here."""

from enum import StrEnum


class FailureKind(StrEnum):
    """The nine named kinds of model error."""

    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"  # out of credit: an operator must act
    AUTH = "auth"
    OVERLOADED = "overloaded"
    SERVER = "server"
    NETWORK = "network"  # refused, reset, cut, not HTTP we can read
    TIMEOUT = "timeout"  # no byte, or none for too long
    CONTEXT = "context"  # the request is longer than the window
    BAD_REQUEST = "bad_request"  # anything else the provider refuses; also an unknown model


class Fenced(Exception):
    """Another process owns the session: what this one holds of the turn is void."""
