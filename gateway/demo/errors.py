"""The one way a demonstration fails."""


class StoryBroken(Exception):
    """A step did not come to the end it should; the message says plainly what was expected."""
