"""`python -m channels.simulators.discord [port]`: the simulator alone, without the gateway."""

import sys

from channels.simulators.discord.serve import DEFAULT_PORT, serve
from channels.simulators.shared.serving import run_alone

if __name__ == "__main__":
    sys.exit(run_alone(serve, DEFAULT_PORT))
