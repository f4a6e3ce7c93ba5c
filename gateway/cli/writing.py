"""Writing of a changed configuration for a command."""

from gateway.command_set import check_commands
from gateway.config.editing import Draft
from gateway.product import check_names


def write_draft(made: Draft) -> list[str]:
    """Write the changed files and return their names.

    Raises:
        SettingsError: the gateway could not start with them, or a file cannot be written; nothing was written.
    """
    check_names(made.settings, made.after)
    check_commands(made.settings)
    return [str(file) for file in made.write()]
