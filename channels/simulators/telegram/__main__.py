"""`python -m channels.simulators.telegram [port]`: the simulator alone, without the gateway."""

import sys

from channels.simulators.shared.serving import run_alone
from channels.simulators.telegram.serve import DEFAULT_PORT, serve

if __name__ == "__main__":
    sys.exit(run_alone(serve, DEFAULT_PORT))
