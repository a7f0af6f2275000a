"""How does an agent get its settings? From a TOML file, the environment and flags, as all of this program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from collectors.agent_settings import AgentSettings, contradictions
from collectors.kafka_access import properties_of, wrong_access
from collectors.wiring import PARTS
from schemas.refusals import explain
from skeletonhunter.settings_sources import Sources


def load_agent_settings(
    path: Path, environment: Mapping[str, str], flags: Mapping[str, object] | None = None
) -> AgentSettings:
    """Settings of an agent; a flag (named ``section.field``) wins over a variable, a variable over the file.

    Raises:
        SettingsError: naming the place, the field and what was expected.
    """
    sources = Sources(AgentSettings)
    sources.add_file(path)
    sources.add_environment(environment)
    sources.add_flags(flags or {})
    try:
        settings = msgspec.convert(sources.tree, AgentSettings)
    except msgspec.ValidationError as error:
        raise sources.error(explain(error, sources.tree, AgentSettings)) from error
    for name, detail in contradictions(settings, tuple(PARTS)):
        raise sources.error(f"{detail} - at `$.{name}`")
    for name, detail in wrong_access(settings.kafka.security):
        raise sources.error(f"{detail} - at `$.kafka.security.{name}`")
    kafka = settings.kafka
    properties = {**properties_of(kafka.security), **kafka.librdkafka}
    return msgspec.structs.replace(settings, kafka=msgspec.structs.replace(kafka, librdkafka=properties))
