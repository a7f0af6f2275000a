"""The JSON Schema files of all topics and versions."""

from __future__ import annotations

import json

from schemas.json_schema import json_schema
from schemas.topics import dead_letters, topics


def json_schema_files() -> dict[str, str]:
    """Text of each JSON Schema by its path in the checkout, ``schemas/json/<topic>.v<version>.json``."""
    return {
        f"schemas/json/{spec.topic}.v{version}.json": json.dumps(json_schema(spec, version), indent=1) + "\n"
        for spec in (*topics().values(), dead_letters())
        for version in spec.versions
    }
