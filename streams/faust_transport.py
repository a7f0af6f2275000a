"""How long may a broker hold a read? Faust always says 1.5 s; here it is a setting.

Apache Kafka answers as soon as there is something. Tansu looks again only at fixed parts of that time, so on it each
step of the pipeline would take most of a second.
"""

from __future__ import annotations

from typing import Any

import faust
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer, Transport


def use_fetch_wait(app: faust.App, fetch_wait_ms: int) -> None:
    """Lets the app's consumer ask the broker to hold reads for at most ``fetch_wait_ms``."""

    class Thread(AIOKafkaConsumerThread):  # type: ignore[misc]
        def _create_worker_consumer(self, transport: Any) -> Any:
            consumer = super()._create_worker_consumer(transport)
            consumer._fetch_max_wait_ms = fetch_wait_ms
            return consumer

    class ShortReads(Consumer):  # type: ignore[misc]
        def _new_consumer_thread(self) -> Thread:
            return Thread(self, loop=self.loop, beacon=self.beacon)

    transport = Transport(app.conf.broker_consumer, app)
    transport.Consumer = ShortReads
    app.transport = transport
