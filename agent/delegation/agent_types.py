"""The agents to which tasks can be given: two that are built in, and those of definitions. Pure."""

from collections.abc import Sequence

from agent.delegation.definitions import AgentDefinition

GENERAL = "general"
"""Built-in type: the agent that gives the task, with an empty conversation."""

FORK = "fork"
"""Built-in type: the agent that gives the task, with its conversation up to here."""

BUILT_IN = {
    GENERAL: "an agent like you, with your tools; it knows only what you write to it",
    FORK: "you yourself with this conversation up to here, beside it; cheap, as your prompt is cached already",
}


def list_types(definitions: Sequence[AgentDefinition]) -> dict[str, str]:
    """Return the names of all agents with their descriptions, the built-in ones first."""
    return BUILT_IN | {each.name: each.description for each in definitions if each.name not in BUILT_IN}
