"""`python -m channels.slack.simulator [port]`: the simulator alone, without the gateway."""

import asyncio
import sys

from channels.slack.simulator.serve import DEFAULT_PORT, serve


def main() -> int:
    """Serve until Ctrl-C; 2 when the port cannot be had."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_PORT
    try:
        asyncio.run(serve(port=port, lines=sys.stdin if sys.stdin.isatty() else None))
    except KeyboardInterrupt:
        return 0
    except OSError as error:
        sys.stderr.write(f"cannot listen on port {port}: {error.strerror}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
