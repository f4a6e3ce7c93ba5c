"""Files of an answer: by the key of the call that made them, whatever a result says."""

import json

import pytest

from agent.tools.results import success_result
from agent.transcript import CallOutcome, ToolReturned
from channels.messages import AttachmentKind
from gateway.sessions.made_files import MAX_FILES, made_files
from gateway.store.outbox import MediaRef, file_id

FILE = {"name": "practice.png", "mime": "image/png", "description": "numbers", "blob": "somebody-else's"}


def returned(data: object, key: str = "t/0/0", outcome: CallOutcome = CallOutcome.DONE) -> ToolReturned:
    return ToolReturned(0, key, "c", "plot_progress", success_result(data), outcome)


def test_a_file_is_known_by_its_calls_key():
    (ref,) = made_files([returned({"file": FILE, "more": [1]})])
    assert MediaRef(AttachmentKind.PHOTO, "practice.png", "image/png", file_id("t/0/0"), "numbers") == ref
    assert len(ref.blob) <= 36


@pytest.mark.parametrize(
    "event",
    [
        returned({"file": None}),
        returned({"file": {"name": "", "mime": "image/png"}}),
        returned({"file": {"name": "x", "mime": "no mime"}}),
        returned({"text": '"file":{"name":"x","mime":"image/png"}'}),
        returned({"file": FILE}, outcome=CallOutcome.FAILED),
        ToolReturned(0, "t/0/0", "c", "any", '{"data":{"file":{' + "[" * 50_000),
        ToolReturned(0, "t/0/0", "c", "any", json.dumps({"data": [{"file": FILE}]}, separators=(",", ":"))),
    ],
)
def test_what_names_none_brings_none(event: ToolReturned):
    assert () == made_files([event])


def test_the_last_few_go_along():
    many = [returned({"file": FILE}, f"t/{at}/0") for at in range(MAX_FILES + 3)]
    assert [file_id(f"t/{at}/0") for at in range(3, MAX_FILES + 3)] == [ref.blob for ref in made_files(many)]
