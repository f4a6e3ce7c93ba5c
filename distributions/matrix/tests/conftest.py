"""A homeserver for the tests that are marked `matrix`."""

from collections.abc import Iterator

import pytest

from distributions.matrix.tests.homeserver import SYNAPSE, Homeserver, synapse

pytest.register_assert_rewrite("gateway.testing.channel_contract")


@pytest.fixture(scope="session")
def homeserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Homeserver]:
    assert SYNAPSE, "run `make matrix`: it installs a homeserver"
    with synapse(tmp_path_factory.mktemp("synapse")) as server:
        yield server
