"""The contract of every channel: one class over all of them."""

from gateway.testing.channel_contract import EndContract, InContract, OutContract


class TestIn(InContract):
    pass


class TestOut(OutContract):
    pass


class TestEnd(EndContract):
    pass
