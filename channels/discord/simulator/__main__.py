"""`python -m channels.discord.simulator [port]`: the simulator alone, without the gateway."""

import sys

from channels.discord.simulator.serve import DEFAULT_PORT, serve
from channels.simulation.serving import run_alone

if __name__ == "__main__":
    sys.exit(run_alone(serve, DEFAULT_PORT))
