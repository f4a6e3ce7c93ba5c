"""Settings of the table `[delegation]`."""

from pydantic import BaseModel, ConfigDict, Field

AGENT = "agent"
SEND_MESSAGE = "send_message"
DELEGATION_TOOLS = (AGENT, SEND_MESSAGE, "task_stop")


class DelegationConfig(BaseModel):
    """Tasks that the agent gives to agents of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    """False: no tasks, as without this table."""
    max_depth: int = Field(default=1, ge=1, le=3)
    """Depth of tasks that give tasks; 1: only conversations do."""
    max_tasks: int = Field(default=5, ge=1, le=50)
    """Maximum tasks of one conversation, or of one task, that run at a time."""
    max_tasks_overall: int = Field(default=8, ge=1, le=1000)
    """Maximum tasks of the tenant that run at a time."""
    max_steps: int = Field(default=20, ge=1, le=1000)
    """Maximum model responses of a task; one last call without tools follows."""
    deadline_s: float = Field(default=300.0, gt=0, le=86_400)
    """Seconds of a task, without the time in which it waits for an approval."""
    mailbox: int = Field(default=50, ge=1, le=1000)
    """Maximum messages that wait for one task, or for the conversation that gave it."""
    kept_min: int = Field(default=60, ge=1, le=10_080)
    """Minutes for which an ended task can be looked up; then only the journal has it."""
