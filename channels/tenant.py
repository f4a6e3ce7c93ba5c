"""Whose an account is where nobody says otherwise. A module of its own: a list of `tenk` loads no messages for it."""

DEFAULT_TENANT = "default"
