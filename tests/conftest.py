"""What every test stands on: no network, no settings of the machine, the same amount of generated cases everywhere."""

import os

from hypothesis import HealthCheck, settings

FOREIGN = ("TENK_", "TELEGRAM_", "DISCORD_", "SLACK_", "OPENAI_", "ANTHROPIC_", "DATABASE_URL", "NATS_URL")
"""Environment variables that would change what is tested; processes that tests start must not inherit them either."""

for name in [name for name in os.environ if name.startswith(FOREIGN)]:
    del os.environ[name]

settings.register_profile(
    "house", deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("house")
