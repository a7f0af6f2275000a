"""How is Kafka reached without the weight of what comes along? The C extension of confluent-kafka, loaded alone.

``import confluent_kafka`` also loads asyncio, ssl and the serializers of a schema registry: 7 MB of resident memory
that the agent has no use for (a fifth of its bound). The extension itself needs none of them. Where the package was
imported before, or is laid out otherwise in some release, it is taken as it is: heavier, but the same.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType

PACKAGE = "confluent_kafka"


def load() -> ModuleType:
    """The module with ``Producer``, ``Consumer``, ``TopicPartition``, ``KafkaError`` and ``KafkaException``."""
    if PACKAGE in sys.modules:
        return sys.modules[PACKAGE]
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return importlib.import_module(PACKAGE)
    alone = ModuleType(PACKAGE)
    alone.__path__ = list(spec.submodule_search_locations)
    sys.modules[PACKAGE] = alone
    try:
        return importlib.import_module(f"{PACKAGE}.cimpl")
    except ImportError:
        del sys.modules[PACKAGE]
        return importlib.import_module(PACKAGE)
    finally:
        if sys.modules.get(PACKAGE) is alone:
            del sys.modules[PACKAGE]  # whoever imports the package later gets all of it
