"""``skeletonhunter record -o REC``: cuts a recording out of live Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def record(
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The recording: a directory or a .tar.zst file.")],
    begin: Annotated[
        str | None, typer.Option("--from", help="First arrival: ISO 8601 (UTC), or us since 1970.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Last arrival, likewise (default: now).")] = None,
    job: Annotated[str | None, typer.Option(help="Only this job and its fabric.")] = None,
    derived: Annotated[bool, typer.Option(help="Also what the stages made of it.")] = False,
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Prefix of topics and groups.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Cut a recording out of live Kafka: all topics alike, with the maps that held when it begins."""
    import os
    import time

    import msgspec
    from rich.console import Console

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import print_json, progress_bar
    from skeletonhunter.recordings.cut import Cut, cut_recording
    from skeletonhunter.recordings.manifest import RecordingError
    from skeletonhunter.settings import SettingsError, load_settings

    try:
        settings = load_settings(config, os.environ, {"kafka.url": kafka, "kafka.prefix": prefix})
        now_us = time.time_ns() // 1000
        cut = Cut(_topics(derived), instant_of(end) or now_us, instant_of(begin), job)
        if cut.from_us is not None and cut.to_us < cut.from_us:
            raise typer.BadParameter(f"--to {end or 'now'} is before --from {begin}")
        with progress_bar("reading Kafka", None) as progress:
            manifest = cut_recording(settings.kafka, cut, output, progress)
    except (RecordingError, SettingsError) as error:
        raise InputError(str(error)) from error
    if as_json:
        print_json(msgspec.to_builtins(manifest))
        return
    lines = ", ".join(f"{topic} {count:,}" for topic, count in sorted(manifest.topics.items()))
    Console().print(f"{output}: {lines}", highlight=False)


def _topics(derived: bool) -> tuple[str, ...]:
    from schemas.topics import topics
    from streams.stages import STAGES

    made = {topic for stage in STAGES.values() for topic in stage.outputs}
    return tuple(name for name in topics() if name != "ticks" and (derived or name not in made))


def instant_of(text: str | None) -> int | None:
    """Microseconds since the epoch of an instant as a person writes it; without a zone it is UTC."""
    from datetime import UTC, datetime

    if text is None or text.isdigit():
        return None if text is None else int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no instant, expected 2025-03-01T12:00:00 or microseconds") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1e6)
