"""The default tenant of an account, in a module of its own, so that listings of `tenk` need not load messages."""

DEFAULT_TENANT = "default"
