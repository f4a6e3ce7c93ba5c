"""Settings of the table `[tools]`."""

from pydantic import BaseModel, ConfigDict


class NotesConfig(BaseModel):
    """Tools by which a model keeps track of its own work."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    think: bool = False
    """A tool that does nothing: the model writes a note to itself before it decides."""
    todo: bool = False
    """A list of steps that the model keeps and the person sees tick while it works."""
