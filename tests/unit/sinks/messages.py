"""Messages for tests of the sinks."""

from __future__ import annotations

from typing import Any

from schemas import codec, probing
from schemas.envelope import Clock, Message, Producer
from schemas.topics import topic
from skeletonhunter.reference.examples import examples
from skeletonhunter.sinks.received import Received

T0_US = 1_750_000_000_000_000


def envelope_of(topic_name: str, seq: int = 0, t_us: int = T0_US, **fields: Any) -> dict[str, Any]:
    """The fields that every message about a job has."""
    return {
        "v": topic(topic_name).newest,
        "t_us": t_us,
        "producer": Producer(id=f"agent:a1/{topic_name}", kind="host", boot="b1", seq=seq),
        "clock": Clock(source="ptp", offset_us=0.5, error_us=10.0),
        "fabric": "pod-1",
        "job": "job-1",
        "tenant": None,
        **fields,
    }


def probe_train(dst: str, t_us: int = T0_US, rtt_us: tuple[float, ...] = (12.5, 13.0), **fields: Any) -> Any:
    """A train of ten probes of which all came back, unless told otherwise."""
    plain = {"kind": "rdma", "outcome": "reply", "sent": 10, "lost": 0, "sport": 49152, "path": ("l1", "l2")}
    return probing.ProbeResult(dst=dst, t_us=t_us, rtt_us=rtt_us, **{**plain, **fields})


def received_examples(topic_name: str) -> list[Received]:
    """The valid examples of a topic, as they would be read."""
    read = []
    for place, example in enumerate(e for e in examples()[topic_name].values() if e.is_valid):
        value = codec.decode(topic_name, example.key, bytes(example.value), example.arrival_us)
        assert isinstance(value, Message)
        read.append(Received(value, example.arrival_us, 0, place))
    return read
