"""The words that begin a scheduled turn, and the answer that means silence. Pure."""

from datetime import timedelta

from agent.schedules.rules import Every, Rule, Slot

SCHEDULE = "schedule"
"""The name of the tool."""

NOTHING_TO_SAY = "NOTHING_TO_SAY"
"""The answer of a heartbeat that sends nothing."""

DATA_HEAD = "prompt of the schedule, in the words that the person has approved"

LATE_FROM = timedelta(minutes=10)


def request_text(name: str, rule: Rule, slot: Slot, late: timedelta) -> str:
    """Return the gateway's words that begin a scheduled turn."""
    when = f"It was due on {slot.wall:%Y-%m-%d} at {slot.wall:%H:%M}, in their zone"
    was_late = " and comes late, because the bot was not running; say so if that matters" if late > LATE_FROM else ""
    said = (
        f'(The schedule "{name}", which the person asked for earlier, is due. {when}{was_late}. They have written '
        "nothing now. Do what its prompt below asks for, for this person only."
    )
    if isinstance(rule, Every):
        said += (
            f" Write to them only if there is something that they would want to hear now; otherwise answer "
            f"{NOTHING_TO_SAY} and nothing else."
        )
    return f"{said})"


def drop_silence(text: str) -> str:
    """Return an answer without the lines that mean silence; "" if it says nothing."""
    lines = [line for line in text.splitlines() if line.strip(" \t*_`\"'.") != NOTHING_TO_SAY]
    return "\n".join(lines).strip()
