"""Kafka loses something itself: a topic is deleted and made again, or the changelog of the states is cut off."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from skeletonhunter.working import topic_admin
from streams.topic_admin import plan_topics
from tests.chaos.conftest import Theatre
from tests.chaos.installation import PARTITIONS, Play, Script
from tests.chaos.outcome import Outcome, assert_same, differences, verdicts

pytestmark = pytest.mark.chaos

AT_S = 90.0
"""Two incidents are open, the next begins a little later."""
CHANGELOG = "skeletonhunter-state-changelog"


def topic_made_anew(play: Play, topic: str) -> Script:
    """A topic is deleted, when all that was sent has been handled, and made again."""
    yield play.sent(AT_S)
    play.catch_up()
    admin = topic_admin(play.settings)
    admin.delete([topic])
    while topic in admin.existing():
        play.outlast(0.2)
    plans = plan_topics(play.settings.kafka.max_message_bytes, keep_forever=True)
    admin.ensure([plan for plan in plans if plan.name == topic], PARTITIONS, 1)
    for number in range(PARTITIONS):
        play.publisher.ends[topic, number] = 0  # as the ticker would find it
    play.watch("work-1")


def changelog_cut_off(play: Play, kept: int) -> Script:
    """All but the last ``kept`` rows of each partition's states go, and the worker is killed."""
    yield play.reached(AT_S)
    client = AdminClient({"bootstrap.servers": play.settings.kafka.url})
    topic = play.settings.kafka.prefix + CHANGELOG
    policy = ConfigEntry("cleanup.policy", "compact,delete", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[policy])
    for changed in client.incremental_alter_configs([resource]).values():
        changed.result(30)
    play.running.children["work-1"].kill()
    ends = topic_admin(play.settings).ends([(CHANGELOG, number) for number in range(PARTITIONS)])
    cut = [TopicPartition(topic, number, max(0, end - kept)) for (_, number), end in ends.items()]
    for deleted in client.delete_records(cut).values():
        deleted.result(30)
    play.running.start(play.running.programs["work-1"])
    play.watch("work-1")


def test_measurements_are_deleted_and_their_topic_made_again(theatre: Theatre, undisturbed: Outcome) -> None:
    """The topic that has most of them."""
    made_again(theatre, undisturbed, "probe-results")


@pytest.mark.usefixtures("long_form")
@pytest.mark.parametrize("topic", ["anomalies", "ticks"])
def test_a_topic_that_workers_write_is_deleted_and_made_again(
    theatre: Theatre, undisturbed: Outcome, topic: str
) -> None:
    """Also where nothing comes for a while."""
    made_again(theatre, undisturbed, topic)


def made_again(theatre: Theatre, undisturbed: Outcome, topic: str) -> None:
    """What a checkpoint holds counts, what comes afterwards counts, and it is said that the log began anew."""
    found = theatre.run(lambda play: [topic_made_anew(play, topic)])
    assert f"{topic} began anew" in theatre.heard["work-1"]
    theatre.say(same_bytes=list(differences(found.updates, undisturbed.updates)) == [])
    assert verdicts(found.updates) == verdicts(undisturbed.updates)
    assert len({row[0] for row in found.current}) == len(found.current) == len(undisturbed.current)


@pytest.mark.usefixtures("long_form")
@pytest.mark.parametrize("kept", [0, 1], ids=["all", "but-the-last-row"])
def test_the_changelog_is_cut_off_and_the_worker_killed(theatre: Theatre, undisturbed: Outcome, kept: int) -> None:
    """The states are folded again from the topics, and it is said when that is because rows are missing."""
    found = theatre.run(lambda play: [changelog_cut_off(play, kept)])
    if kept:
        assert "it is folded again" in theatre.heard["work-1"]
    assert_same(found, undisturbed)
