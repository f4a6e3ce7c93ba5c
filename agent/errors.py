"""Errors of the agent by name."""

from enum import StrEnum


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
