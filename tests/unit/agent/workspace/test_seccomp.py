"""The filter of system calls, interpreted for each architecture."""

import struct

import pytest

from agent.workspace.seccomp import NUMBERS, Numbers, make_filter

ALLOWED, REFUSED = 0x7FFF0000, 0x00050001


def decide(program: bytes, architecture: int, call: int, first: int = 0) -> int:
    """Run the program as the kernel does, on `struct seccomp_data`."""
    data = struct.pack("=IIQQ", call, architecture, 0, first)
    steps = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at = loaded = 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        match code:
            case 0x20:
                (loaded,) = struct.unpack_from("=I", data, value)
            case 0x15:
                at += if_true if loaded == value else if_false
            case 0x35:
                at += if_true if loaded >= value else if_false
            case _:
                return int(value)


@pytest.mark.parametrize(("machine", "numbers"), NUMBERS.items())
def test_calls_are_refused_by_number_and_sockets_by_family(machine: str, numbers: Numbers) -> None:
    program, own = make_filter(machine), numbers.architecture
    assert {REFUSED} == {decide(program, own, call) for call in (*numbers.refused, 0x40000001, 2**32 - 1)}
    assert {ALLOWED} == {
        decide(program, own, call) for call in range(400) if call not in (*numbers.refused, numbers.socket)
    }
    families = [family for family in range(60) if decide(program, own, numbers.socket, family) == ALLOWED]
    assert [1, 2, 10, 16] == families
    assert REFUSED == decide(program, own ^ 1, 0)


def test_an_unknown_architecture_has_no_filter() -> None:
    assert b"" == make_filter("pdp11")
