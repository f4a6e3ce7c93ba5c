"""Settings loaded and the log set up, as every command that does something needs it. Heavy; imported when used."""

import os
from pathlib import Path

from gateway import telemetry
from gateway.config.settings import Settings, load
from gateway.safety.private_files import check_home
from gateway.safety.redaction import Redactor


def prepare(config_path: Path | None, *, level: str | None = "error") -> Settings:
    """The settings; from here on the log goes to stderr, redacted, from `level` on (None: as configured).

    Whatever is made from here on is for this user alone.

    Raises:
        SettingsError: see `gateway.config.settings.load`.
        LaxFile: others could write to the home: neither its socket nor its files are to be trusted.
    """
    os.umask(0o077)
    settings = load(config_path, os.environ)
    log_format = settings.gateway.log_format
    telemetry.configure(
        Redactor(settings.secret_values()),
        level=level or settings.gateway.log_level,
        as_json=None if log_format == "auto" else log_format == "json",
    )
    check_home(settings.home)
    return settings
