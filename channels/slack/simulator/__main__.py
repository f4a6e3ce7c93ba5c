"""`python -m channels.slack.simulator [port]`: the simulator alone, without the gateway."""

import sys

from channels.simulation.serving import run_alone
from channels.slack.simulator.serve import DEFAULT_PORT, serve

if __name__ == "__main__":
    sys.exit(run_alone(serve, DEFAULT_PORT))
