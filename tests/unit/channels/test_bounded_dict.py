"""A dict with a bound."""

from channels.bounded_dict import BoundedDict


def test_what_was_set_longest_ago_is_forgotten() -> None:
    kept: BoundedDict[str, int] = BoundedDict(2)
    kept["a"], kept["b"] = 1, 2
    kept["a"] = 3
    kept.setdefault("b", 9)
    kept["c"] = 4
    assert {"a": 3, "c": 4} == kept
