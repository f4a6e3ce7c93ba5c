"""Options that several commands share."""

from pathlib import Path

import click

config_option = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="The configuration file; default: config/gateway.toml where that exists.",
)
