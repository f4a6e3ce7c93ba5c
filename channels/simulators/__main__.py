"""`python -m channels.simulators PLATFORM [PORT]`: a simulator alone, without the gateway."""

import asyncio
import sys
from contextlib import suppress

from channels.simulators.serve import PORTS, serve, typed_lines

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PORTS:
        sys.exit(f"python -m channels.simulators {'|'.join(PORTS)} [PORT]")
    platform = sys.argv[1]
    port = int(sys.argv[2]) if len(sys.argv) > 2 else PORTS[platform]
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(serve(platform, port=port, lines=typed_lines()))
    except OSError as error:
        sys.stderr.write(f"cannot listen on port {port}: {error.strerror}\n")
        sys.exit(2)
