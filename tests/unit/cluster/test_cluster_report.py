"""The cluster in `tenk status`: owners, backlog and versions of several machines."""

from datetime import UTC, datetime

from gateway.ops.status import cluster_report
from gateway.ownership import in_name, out_name
from gateway.store.leases import Backlog, ClusterLook, Member, MemberStanding

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
A, B = (Member(f"{name * 4}:1", name, "1.2, schema 7", "key") for name in "ab")
OLD = Member("cccc:1", "c", "1.1, schema 6", "key")


def there(member: Member, *, lives: bool = True) -> MemberStanding:
    return MemberStanding(member, NOW, lives, leaving=False, fenced=2 if member is B else 0)


def test_it_says_who_is_how_far_behind() -> None:
    report = cluster_report(
        ClusterLook(
            members=[there(A), there(B), there(OLD, lives=False)],
            shards={1: A.id, 2: A.id, 3: B.id},
            names={in_name("telegram:main"): A.id, out_name("telegram:main"): B.id, "chores": A.id},
            waiting={1: Backlog(2, 3.04), 2: Backlog(1, 61.0), 9: Backlog(1, 5.0)},
            unsent={("telegram", "main"): Backlog(1, 2.0), ("slack", "main"): Backlog(4, 7.0)},
            ages={"under 10 s": 4},
        ),
        A,
    ).model_dump()
    members, accounts = report["members"], report["accounts"]
    ours, other, gone = members.values()
    assert {"state": "lives (this one)", "shards": 2, "waiting": 3, "behind_s": 61.0} == pick(ours, "state")
    assert {"state": "lives", "shards": 1, "waiting": 0, "behind_s": 0.0, "fenced_writes": 2} == pick(
        other, "state", "fenced_writes"
    )
    assert {"state": "is gone", "shards": 0, "waiting": 0, "behind_s": 0.0} == pick(gone, "state")
    telegram = {"read_by": f"a/{A.id}", "sent_by": f"b/{B.id}", "unsent": 1, "behind_s": 2.0}
    slack = {"read_by": "nobody, or each by webhook", "sent_by": "nobody", "unsent": 4, "behind_s": 7.0}
    assert {"telegram:main": telegram, "slack:main": slack} == accounts
    assert {"waiting": 1, "behind_s": 5.0} == report["without_owner"]
    assert (253, 4, 61.0) == tuple(report[name] for name in ("shards_without_owner", "waiting", "behind_s"))
    assert "versions_differ" not in report


def pick(member: object, *names: str) -> dict[str, object]:
    assert isinstance(member, dict)
    return {name: member[name] for name in (*names, "shards", "waiting", "behind_s")}
