"""The settings on the console's page of the configuration: those in force, and those that may be changed now."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from gateway.config.editing import ConfigFiles
from gateway.config.listing import ShownSetting, lines_of, shown_settings
from gateway.config.sources import ConfigFile, KeyPath, Sources

_UNTRACED = Sources(ConfigFile(Path()), ConfigFile(Path()), {})


@dataclass(frozen=True, slots=True)
class EditedSetting:
    """A setting with a form of its own."""

    setting: ShownSetting
    source: str  # file and line, or variable; "": its default
    variable: str  # that overrides every change; "": none


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """The settings of a running gateway."""

    in_force: Callable[[], BaseModel]
    files: ConfigFiles | None
    """None: the gateway was started without files, so that nothing can be changed."""
    waits_for_start: Callable[[KeyPath], bool]

    def lines(self) -> list[str]:
        """Return every key as `tenk config show` prints it, secrets masked, without sources."""
        return list(lines_of(self.in_force(), _UNTRACED))

    def tables(self) -> Mapping[str, list[EditedSetting]]:
        """Return the settings that may be changed while the gateway runs, by table."""
        if self.files is None:
            return {}
        sources = self.files.sources()
        tables: dict[str, list[EditedSetting]] = {}
        for setting in shown_settings(self.in_force()):
            if self.waits_for_start(setting.key):
                continue
            source = sources.place_of(setting.key) if sources.sets(setting.key) else ""
            variable, _ = sources.environment.get(setting.key, ("", ""))
            tables.setdefault(setting.table, []).append(EditedSetting(setting, source, variable))
        return tables
