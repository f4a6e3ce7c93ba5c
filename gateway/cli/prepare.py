"""Setup that most commands need: settings, log and home. It is slow to import."""

import os
from pathlib import Path

from gateway import telemetry
from gateway.config.settings import Settings, load
from gateway.safety.private_files import check_home
from gateway.safety.redaction import Redactor


def prepare(config_path: Path | None, *, level: str | None = "error") -> Settings:
    """Load the settings, log to stderr from `level` on (None: the configured level), and return the settings.

    New files are readable by this user only from here on.

    Raises:
        SettingsError: the settings cannot be used.
        LaxFile: other users can write to the home, so its socket and files cannot be trusted.
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
