"""`tenk bench`: figures beside a bare bot. What is measured, and how, lives in `gateway.bench`."""

import sys

import click


@click.command("bench", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Measure this gateway against bare bots, on the same simulated platforms and model server.

    Name rows (loads, ingest, acks, plan, boot) or get all of them. Options: --platform, --chats, --messages,
    --per-second, --seconds, and --json FILE for the figures.
    """
    from gateway.bench.main import main  # noqa: PLC0415  heavy: the whole gateway, the bare bot and the simulator

    sys.exit(main(list(arguments)))
