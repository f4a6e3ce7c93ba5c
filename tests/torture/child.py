"""The gateway under torture, as a process: `python -P child.py CONFIG`. SIGUSR1 arms the failpoint named in the file
`failpoint` of its home, then removes the file.
"""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from agent.tools.base import tools_of
from channels import clocks
from gateway import failpoints, telemetry
from gateway.app import serve
from gateway.config.settings import Settings, load
from gateway.errors import GatewayError
from gateway.safety.redaction import Redactor


def _set_clock(off: timedelta) -> None:
    steady: Any = clocks.steady_now
    steady.__init__(lambda: clocks.wall_now() + off)


def _arm(home: Path) -> None:
    asked = home / "failpoint"
    failpoints.arm(asked.read_text() or None)
    asked.unlink()


async def _run(settings: Settings) -> None:
    from tests.torture.ledger import LedgerTools  # noqa: PLC0415  only with settings that can be used

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, _arm, settings.home)
    await serve(settings, tools_of(LedgerTools()))


if __name__ == "__main__":
    failpoints.arm(os.environ.get("TENK_FAILPOINT"))  # the module may have been imported before there was one
    _set_clock(timedelta(seconds=float(os.environ.get("TORTURE_CLOCK_S", "0"))))
    loaded = load(Path(sys.argv[1]), os.environ)
    telemetry.configure(Redactor(loaded.secret_values()), level="info", as_json=False)
    try:
        asyncio.run(_run(loaded))
    except GatewayError as refused:
        sys.exit(str(refused))
