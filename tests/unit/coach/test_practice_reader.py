"""The fake reader beside the store's own functions."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.ports import LocalEffect
from gateway.coach import writer
from tests.fakes.amounts import share
from tests.fakes.practice_reader import ANA, BEA, TODAY, FakePractice, connected_practice

_logs = st.lists(
    st.tuples(st.sampled_from(["Guitar", "Piano", "Chess"]), st.integers(0, 40), st.integers(1, 60)), max_size=12
)


class TestFakePractice:
    @given(_logs, st.integers(1, 12), st.integers(0, 40))
    @settings(max_examples=share(40))
    async def test_it_reads_what_the_store_reads(self, logs, limit, since):
        fake = FakePractice()
        with connected_practice() as stored:
            for skill, ago, minutes in logs:
                day = TODAY - timedelta(days=ago)
                fake.log(skill, day, minutes)
                stored.now += timedelta(seconds=1)
                stored.change(LocalEffect(writer.log, skill, minutes, day))
            names = {skill.id: skill.name for skill in await stored.skills(ANA)}

            async def seen(reader, who=ANA):
                skills = await reader.skills(who)
                first = skills[0].id if skills else None
                last = TODAY - timedelta(days=since)
                found = (
                    await reader.sessions(who, skill_id=first, limit=limit),
                    await reader.sessions(who, since=last),
                )
                return (
                    [(skill.name, skill.total_minutes) for skill in skills],
                    [
                        [(names.get(one.skill_id, one.skill_id).lower(), one.day, one.minutes) for one in two]
                        for two in found
                    ],
                    sorted(
                        (names.get(one.skill_id, one.skill_id).lower(), one.day, one.minutes)
                        for one in await reader.days(who)
                    ),
                )

            assert await seen(stored) == await seen(fake)
            assert ([], [[], []], []) == await seen(stored, BEA) == await seen(fake, BEA)
