"""Records come in batches, in turns between topics and partitions; changelogs record by record, as Faust reads them."""

from __future__ import annotations

from faust.types import TP

from streams.faust_transport import AT_ONCE, Batches


def test_batches_hold_every_record_in_order_and_take_turns() -> None:
    busy, calm = TP("probe-results", 0), TP("agent-health", 0)
    fetched = {busy: list(range(AT_ONCE * 2 + 1)), calm: ["a", "b"]}
    handed_out = list(Batches().iterate(fetched))
    assert [tp for tp, _ in handed_out[:2]] == [busy, calm], "a busy topic keeps no other waiting"
    for tp, records in fetched.items():
        assert [record for place, batch in handed_out if place == tp for record in batch] == records
    assert max(len(batch) for _, batch in handed_out) == AT_ONCE


def test_a_changelog_is_not_cut_into_batches() -> None:
    changelog = TP("skeletonhunter-state-changelog", 0)
    assert list(Batches().iterate({changelog: [1, 2]})) == [(changelog, 1), (changelog, 2)]
