"""Model cost beside a turn's steps: a judge of a call, discarded notes."""

from pathlib import Path

import sqlalchemy as sa

from agent.context.compaction import INSTRUCTIONS
from agent.ports import ModelFacts, ModelRequest, Turn, TurnPorts
from agent.transcript import EndReason, ModelResponded, Usage
from tests.fakes.outages import FickleEngine
from tests.fakes.spine import QuickStore, Spine, quick_store


async def counted(store: QuickStore) -> list[tuple[int, int]]:
    query = sa.text("SELECT input_tokens, output_tokens FROM usage WHERE step < 0 ORDER BY step DESC")
    return await store.read(lambda c: [(row[0], row[1]) for row in c.execute(query)])


async def test_what_a_turn_asks_beside_its_steps_is_counted_each_time(tmp_path: Path) -> None:

    async def run(_turn: Turn, ports: TurnPorts) -> EndReason:
        for tokens in (10, 20):
            await ports.journal.note_cost(ModelResponded(0, "fine", usage=Usage(tokens, 5), model="wire:small"))
        await ports.journal.finish(EndReason.COMPLETED, "Done.", None)
        return EndReason.COMPLETED

    store = await quick_store(tmp_path / "tenk.db")
    spine = Spine(store, agent=run)
    await spine.begin()
    await spine.say("go")
    await spine.quiet()
    assert [(10, 5), (20, 5)] == await counted(store)
    await spine.kill()
    await store.aclose()


async def test_a_cost_whose_commit_held_unheard_is_counted_once(tmp_path: Path) -> None:
    engine = FickleEngine(tmp_path / "tenk.db")

    async def run(_turn: Turn, ports: TurnPorts) -> EndReason:
        for tokens in (10, 20):
            engine.unheard = 1
            await ports.journal.note_cost(ModelResponded(0, "fine", usage=Usage(tokens, 5), model="wire:small"))
        await ports.journal.finish(EndReason.COMPLETED, "Done.", None)
        return EndReason.COMPLETED

    store = await QuickStore(engine).start()
    spine = Spine(store, agent=run)
    await spine.begin()
    await spine.say("go")
    await spine.until(lambda: bool(spine.channel.shown()))
    assert (0, [(10, 5), (20, 5)]) == (engine.unheard, await counted(store))
    await spine.kill()
    await store.aclose()


async def test_notes_that_came_to_nothing_are_paid_for(spine: Spine) -> None:
    asked = []

    def answer(request: ModelRequest) -> ModelResponded:
        if request.system is INSTRUCTIONS:
            asked.append(request)
            return ModelResponded(0, "", usage=Usage(700, 1), model="wire:big")
        return ModelResponded(0, "Slow scales and long tones. " * 60)

    spine.model.facts, spine.model.answer_at_once = ModelFacts(context_window_tokens=8_000), answer
    spine.channel.limited(max_text=4096)
    for _ in range(30):
        await spine.say("And then? " * 60)
        await spine.quiet()
        if asked:
            break
    assert asked and (700, 1) in await counted(spine.store)
