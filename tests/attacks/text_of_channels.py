"""What of `channels` reads a stranger's, a person's or a model's words; see `tests.attacks.entries`."""

from tests.attacks.entries import Entry

ENTRIES: dict[str, Entry] = {}

EXCUSED: dict[str, str] = {
    "channels.": "not registered yet: the first entries of this table take its place",
}
