"""A filter of system calls for the sandbox: what no namespace isolates is refused.

Sockets of other families than Unix and IP (`AF_VSOCK` reaches the host of a virtual machine), io_uring (which opens
sockets without that call), kernel keyrings, BPF, memory that counts for no process, and calls of another architecture.
"""

import errno
import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass

ALLOWED_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: their own network namespace isolates them."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers of an architecture's system calls."""

    architecture: int  # AUDIT_ARCH_*
    socket: int
    refused: tuple[int, ...]


_EVERYWHERE = (425, 426, 427, 447)  # io_uring_setup, io_uring_enter, io_uring_register, memfd_secret
NUMBERS: Mapping[str, Numbers] = {
    # add_key, request_key, keyctl, bpf, userfaultfd, perf_event_open, memfd_create, shmget
    "x86_64": Numbers(0xC000003E, 41, (248, 249, 250, 321, 323, 298, 319, 29, *_EVERYWHERE)),
    "aarch64": Numbers(0xC00000B7, 198, (217, 218, 219, 280, 282, 241, 279, 194, *_EVERYWHERE)),
}

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16  # in struct seccomp_data
_X32 = 0x40000000  # bit of the calls of a third architecture
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM


def make_filter(machine: str = platform.machine()) -> bytes:
    """Return the filter as a BPF program; b"" for an architecture that is not listed."""
    numbers = NUMBERS.get(machine)
    if numbers is None:
        return b""
    tests = [*((_EQUAL, number) for number in numbers.refused), (_AT_LEAST, _X32)]
    refuse = 3 + len(tests) + 2 + len(ALLOWED_FAMILIES)  # place of the last but one instruction
    allow = refuse + 1
    program: list[tuple[int, int, int, int]] = []  # (code, jump if true, jump if false, value)

    def jump(code: int, value: int, *, to: int) -> None:
        program.append((code, to - len(program) - 1, 0, value))

    program += [(_LOAD, 0, 0, _ARCHITECTURE_AT), (_EQUAL, 0, refuse - 2, numbers.architecture)]
    program += [(_LOAD, 0, 0, _NUMBER_AT)]
    for code, value in tests:
        jump(code, value, to=refuse)
    program.append((_EQUAL, 0, allow - len(program) - 1, numbers.socket))
    program.append((_LOAD, 0, 0, _FIRST_ARGUMENT_AT))
    for family in ALLOWED_FAMILIES:
        jump(_EQUAL, family, to=allow)
    program += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *each) for each in program)
