"""Named points where a test can make the process die, fail or freeze. Unarmed, each costs one comparison.

`TENK_FAILPOINT=name:hit:action` arms one: at the `hit`-th passing of `name` the process exits without any clean-up
(`exit`), raises (`raise`), is cancelled (`cancel`: its task, as a reload or `/stop` would) or stops itself until
continued (`stop`). `commit_done` stands behind every commit; `commit_done/claim` is passed by jobs named `claim` alone.
"""

import asyncio
import os
import signal
from collections.abc import Callable


class FailpointRaised(RuntimeError):
    """Error raised by a failpoint armed with `raise`."""


FAILPOINTS = (
    "received",
    "inbox_pre",
    "acked",
    "routed",
    "claim_pre",
    "model_asked",
    "model_first_text",
    "response_pre",
    "intent_pre",
    "tool_done",
    "effect_pre",
    "result_pre",
    "steer_pre",
    "summary_pre",
    "final_pre",
    "placeholder_pre",
    "placeholder_sent",
    "live_edit",
    "send_pre",
    "send_done",
    "sent_pre",
    "edit_done",
    "commit_unknown",
    "commit_done",
    "command_pre",
    "recovery_begun",
    "recovery_turn",
    "shutdown_begun",
)
"""All names; a house test checks the code against it."""


class _Armed:
    """The armed point, if any."""

    def __init__(self, spec: str | None) -> None:
        self.name = self.job = self.action = ""
        self.left = 0
        self.arm(spec)

    def arm(self, spec: str | None) -> None:
        point, hit, self.action = spec.split(":") if spec else ("", "0", "")
        self.name, _, self.job = point.partition("/")
        self.left = int(hit)

    def count_pass(self, job: Callable[..., object] | None) -> None:
        if self.job and self.job != getattr(getattr(job, "func", job), "__name__", ""):
            return
        self.left -= 1
        if self.left != 0:
            return
        if self.action == "exit":
            os._exit(137)
        if self.action == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
            return
        raise asyncio.CancelledError if self.action == "cancel" else FailpointRaised(self.name)


_armed = _Armed(os.environ.get("TENK_FAILPOINT"))


def arm(spec: str | None) -> None:
    """Arm `name:hit:action` in place of what was armed; None arms nothing."""
    _armed.arm(spec)


def failpoint(name: str, job: Callable[..., object] | None = None) -> None:
    """Pass the point `name`; behind a commit, with its job (also as a `partial`)."""
    if _armed.name == name:
        _armed.count_pass(job)
