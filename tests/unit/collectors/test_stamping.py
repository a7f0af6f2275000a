"""The envelope: one number per stream, a boot per run, the clock's state; what does not fit is refused in words."""

from __future__ import annotations

import pytest

from collectors.observing import Now, Observed
from collectors.stamping import Stamper, new_boot
from schemas.codec import decode
from schemas.envelope import Clock
from schemas.telemetry import DeviceEvent

T_US = 1_753_000_000_000_000


def event(stream: str = "device-events", **fields: object) -> Observed:
    told = {"device": "rnic:h-1/mlx5_0", "event": "port_down", "severity": "error", "text": "t", **fields}
    return Observed("device-events", stream, T_US, told)


def stamper(boot: str = "b-1") -> Stamper:
    return Stamper("h-1", boot, "pod-7", lambda: Clock(source="ptp", offset_us=1.5, error_us=2.5))


def read(stamped: object) -> DeviceEvent:
    value = decode(stamped.topic, stamped.key, stamped.value, T_US)  # type: ignore[attr-defined]
    assert isinstance(value, DeviceEvent)
    return value


def test_the_envelope_is_complete() -> None:
    value = read(stamper().stamp(event()))
    assert (value.producer.id, value.producer.boot, value.producer.seq) == ("agent:h-1/device-events", "b-1", 0)
    assert (value.clock.source, value.clock.offset_us, value.clock.error_us) == ("ptp", 1.5, 2.5)
    assert (value.fabric, value.t_us) == ("pod-7", T_US)


def test_numbers_grow_by_one_in_each_stream() -> None:
    made = stamper()
    streams = ["a", "b", "a", "a", "b"]
    assert [read(made.stamp(event(stream))).producer.seq for stream in streams] == [0, 0, 1, 2, 1]


def test_a_fact_that_does_not_fit_gets_no_number() -> None:
    made = stamper()
    with pytest.raises(ValueError, match=r"^device-events: .*severity"):
        made.stamp(event(severity="terrible"))
    assert read(made.stamp(event())).producer.seq == 0


def test_a_part_can_not_forge_its_provenance() -> None:
    value = read(stamper().stamp(event(producer={"id": "x"}, fabric="other", v=7, t_us=1)))
    assert (value.producer.id, value.fabric, value.t_us) == ("agent:h-1/device-events", "pod-7", T_US)


def test_the_key_follows_from_the_topic() -> None:
    assert stamper().stamp(event()).key == "pod-7"
    fields = {"job": "j-1", "container": "c", "host": "h-1", "rnics": []}
    assert stamper().stamp(Observed("rnic-counters", "rnic-counters.c", T_US, fields)).key == "j-1"


def test_each_run_is_a_boot_of_its_own() -> None:
    now = Now(T_US, 1)
    assert new_boot(now) != new_boot(now)
