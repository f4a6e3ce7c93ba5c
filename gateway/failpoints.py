"""Named points where a test can make the process die, fail or freeze. Unarmed, each costs one comparison.

`TENK_FAILPOINT=name:hit:action` arms one: at the `hit`-th passing of `name` the process exits without any clean-up
(`exit`), raises (`raise`) or stops itself until continued (`stop`).
"""

import os
import signal


class FailpointRaised(RuntimeError):
    """A failpoint armed with `raise` was passed."""


class _Armed:
    def __init__(self, spec: str) -> None:
        self.name, hit, self.action = spec.split(":")
        self.left = int(hit)

    def passed(self, name: str) -> None:
        if name != self.name:
            return
        self.left -= 1
        if self.left != 0:
            return
        if self.action == "exit":
            os._exit(137)
        if self.action == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
            return
        raise FailpointRaised(name)


_armed = _Armed(os.environ["TENK_FAILPOINT"]) if "TENK_FAILPOINT" in os.environ else None

FAILPOINTS = (
    "received", "inbox_pre", "inbox_post", "acked", "routed",
    "claim_pre", "claim_post", "model_asked", "model_first_text", "model_done",
    "response_pre", "response_post", "intent_pre", "intent_post", "tool_done",
    "effect_pre", "effect_post", "result_pre", "result_post", "steer_pre", "steer_post",
    "final_pre", "final_post", "placeholder_pre", "placeholder_sent", "placeholder_post", "live_edit",
    "send_pre", "send_done", "sent_pre", "sent_post", "edit_done",
    "command_pre", "command_post", "pairing_approved", "recovery_begun", "recovery_turn", "shutdown_begun",
)  # fmt: skip
"""Every name there is; a house test holds the code against it."""


def failpoint(name: str) -> None:
    """Pass the point `name`."""
    if _armed is not None:
        _armed.passed(name)
