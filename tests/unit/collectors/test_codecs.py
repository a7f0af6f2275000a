"""What agents compress, workers can read: Faust's consumer knows most codecs only with a further library."""

from __future__ import annotations

from importlib import import_module

from collectors.kafka_producer import producer_config


def test_workers_can_read_what_agents_compress() -> None:
    codec = producer_config("localhost:9092", {})["compression.type"]
    assert getattr(import_module("aiokafka.codec"), f"has_{codec}")()
