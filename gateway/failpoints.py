"""Named points where a test can make the process die, fail or freeze. Unarmed, each costs one comparison.

`TENK_FAILPOINT=name:hit:action` arms one: at the `hit`-th passing of `name` the process exits without any clean-up
(`exit`), raises (`raise`), is cancelled (`cancel`: its task, as a reload or `/stop` would) or stops itself until
continued (`stop`).
"""

import asyncio
import os
import signal


class FailpointRaised(RuntimeError):
    """A failpoint armed with `raise` was passed."""


FAILPOINTS = (
    "received", "inbox_pre", "inbox_post", "acked", "routed",
    "picture_kept", "claim_pre", "claim_post", "model_asked", "model_first_text",
    "response_pre", "response_post", "intent_pre", "intent_post", "tool_done",
    "effect_pre", "effect_post", "result_pre", "result_post", "steer_pre", "steer_post",
    "summary_pre", "summary_post",
    "final_pre", "final_post", "placeholder_pre", "placeholder_sent", "placeholder_post", "live_edit",
    "page_turned",
    "send_pre", "send_done", "sent_pre", "sent_post", "outcome_post", "edit_done",
    "commit_unknown",
    "command_pre", "command_post", "pairing_approved", "recovery_begun", "recovery_turn", "shutdown_begun",
)  # fmt: skip
"""Every name there is; a house test holds the code against it."""


class _Armed:
    """The one point that is armed, if any."""

    def __init__(self, spec: str | None) -> None:
        self.name: str | None = None
        self.arm(spec)

    def arm(self, spec: str | None) -> None:
        self.name, hit, self.action = spec.split(":") if spec else (None, "0", "")
        self.left = int(hit)

    def count_pass(self) -> None:
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


def failpoint(name: str) -> None:
    """Pass the point `name`."""
    if _armed.name == name:
        _armed.count_pass()
