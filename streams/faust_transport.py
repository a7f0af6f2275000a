"""Where do we want Faust's consumer to be different? In how long a read may be held, and in commits that fail.

Faust lets a broker hold a read for 1.5 s; here it is a setting. Apache Kafka answers as soon as there is something, but
Tansu looks again only at fixed parts of that time, so on it each step of the pipeline would take most of a second.

Faust crashes when a commit fails because the broker is away. Here it is said and tried again: where to read on from
stands in the marks of the state, commits are for onlookers and for the next start.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import faust
from aiokafka.errors import KafkaError
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer, Transport, ensure_aiokafka_TP
from faust.types import TP

log = logging.getLogger(__name__)


def use_own_consumer(app: faust.App, fetch_wait_ms: int) -> None:
    """Gives the app a consumer that lets reads be held for at most ``fetch_wait_ms`` and survives failing commits."""

    class Thread(AIOKafkaConsumerThread):  # type: ignore[misc]
        def _create_worker_consumer(self, transport: Any) -> Any:
            consumer = super()._create_worker_consumer(transport)
            consumer._fetch_max_wait_ms = fetch_wait_ms
            return consumer

        async def _commit(self, offsets: Mapping[TP, int]) -> bool:
            mine = {ensure_aiokafka_TP(tp): offset for tp, offset in offsets.items() if tp in self.assignment()}
            try:
                await self._ensure_consumer().commit(mine)
            except KafkaError as error:
                log.warning("offsets were not committed, they will be later: %r", error)
                return False
            return True

    class OwnConsumer(Consumer):  # type: ignore[misc]
        def _new_consumer_thread(self) -> Thread:
            return Thread(self, loop=self.loop, beacon=self.beacon)

    transport = Transport(app.conf.broker_consumer, app)
    transport.Consumer = OwnConsumer
    app.transport = transport
