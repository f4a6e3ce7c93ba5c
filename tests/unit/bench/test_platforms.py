"""The person's side is alike on all simulated platforms."""

import pytest

from tests.bench.platforms import PLATFORMS, Platform


@pytest.mark.parametrize("name", PLATFORMS)
class TestPlatform:
    async def test_nothing_is_there_before_a_bot_comes(self, name: str):
        """Nobody is connected and nothing is heard, also after somebody wrote."""
        platform: Platform = PLATFORMS[name]()
        async with platform.server:
            platform.say(1000, "hello")
            assert not platform.connected()
            assert [] == list(platform.heard())
            with pytest.raises(TimeoutError):
                await platform.news(0.01)

    async def test_its_environment_leads_to_the_simulator(self, name: str):
        """Only loopback addresses and tokens, named for the platform."""
        platform: Platform = PLATFORMS[name]()
        async with platform.server:
            told = platform.environment()
        assert all(key.startswith(f"{name.upper()}_") for key in told)
        assert told[f"{name.upper()}_API_BASE"].startswith("http://127.0.0.1:")
