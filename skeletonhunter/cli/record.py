"""``skeletonhunter record -o REC``: cuts a recording out of live Kafka."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from skeletonhunter.recordings.anonymising import Anonymity
    from skeletonhunter.recordings.cut import Cut
    from skeletonhunter.recordings.manifest import Manifest
    from skeletonhunter.settings import Settings


def record(
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The recording: a directory or a .tar.zst file.")],
    begin: Annotated[
        str | None, typer.Option("--from", help="First arrival: ISO 8601 (UTC), or us since 1970.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Last arrival, likewise (default: now).")] = None,
    job: Annotated[str | None, typer.Option(help="Only this job and its fabric.")] = None,
    incident: Annotated[str | None, typer.Option(help="The time of this incident, instead of --from and --to.")] = None,
    lead_s: Annotated[float, typer.Option("--lead", min=0, help="Seconds before the onset of the incident.")] = 600.0,
    tail_s: Annotated[float, typer.Option("--tail", min=0, help="Seconds after its end.")] = 60.0,
    derived: Annotated[bool, typer.Option(help="Also what the stages made of it.")] = False,
    anonymise: Annotated[
        bool, typer.Option("--anonymise", help="With other names, see the command anonymise.")
    ] = False,
    key_file: Annotated[Path | None, typer.Option(help="With --anonymise: the secret that names follow from.")] = None,
    shift_times: Annotated[bool, typer.Option(help="With --anonymise: move instants by whole days.")] = False,
    keep_addresses: Annotated[bool, typer.Option(help="With --anonymise: leave addresses as they are.")] = False,
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Prefix of topics and groups.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Cut a recording out of live Kafka: all topics alike, with the maps that held when it begins.

    Cut off, it goes on when the same command is given again.
    """
    import os

    import msgspec
    from rich.console import Console

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import print_json, progress_bar
    from skeletonhunter.recordings.anonymising import Anonymity, key_of
    from skeletonhunter.recordings.incident_span import Around, span_of
    from skeletonhunter.recordings.manifest import RecordingError
    from skeletonhunter.settings import SettingsError, load_settings

    if incident and (begin or end):
        raise typer.BadParameter("expected --incident, or --from and --to, not both")
    if not anonymise and (key_file or shift_times or keep_addresses):
        raise typer.BadParameter("--key-file, --shift-times and --keep-addresses need --anonymise")
    try:
        settings = load_settings(config, os.environ, {"kafka.url": kafka, "kafka.prefix": prefix})
        how = Anonymity(key_of(key_file), shift_times, keep_addresses) if anonymise else None
        span = (instant_of(begin), instant_of(end))
        if incident:
            span = span_of(settings.kafka, Around(incident, lead_s, tail_s))
        with progress_bar("reading Kafka", None) as progress:
            manifest = _cut(settings, _cut_of(_topics(derived), span, job), output, how, progress)
    except (RecordingError, SettingsError) as error:
        raise InputError(str(error)) from error
    if as_json:
        print_json(msgspec.to_builtins(manifest))
        return
    lines = ", ".join(f"{topic} {count:,}" for topic, count in sorted(manifest.topics.items()))
    Console().print(f"{output}: {lines}", highlight=False, markup=False)


def _cut_of(topics: tuple[str, ...], span: tuple[int | None, int | None], job: str | None) -> Cut:
    import time

    from skeletonhunter.recordings.cut import Cut

    begin_us, end_us = span
    to_us = time.time_ns() // 1000 if end_us is None else end_us
    if begin_us is not None and to_us < begin_us:
        raise typer.BadParameter(f"the end ({'now' if end_us is None else end_us}) is before the begin ({begin_us})")
    return Cut(topics, to_us, begin_us, job, until_now=end_us is None)


def _cut(
    settings: Settings, cut: Cut, output: Path, how: Anonymity | None, progress: Callable[[int], None]
) -> Manifest:
    """Cuts; with names replaced the cut stands beside the output until it has been rewritten."""
    from skeletonhunter.recordings.anonymising import anonymise as rewrite
    from skeletonhunter.recordings.cut import cut_recording, make_room
    from skeletonhunter.recordings.reader import Recording

    if how is None:
        return cut_recording(settings.kafka, cut, output, progress)
    make_room(output, resumed=False)
    named = output.with_name(output.name + ".named")
    cut_recording(settings.kafka, cut, named, progress)
    try:
        with Recording(named, settings.recordings) as recording:
            return rewrite(recording, output, how, progress)
    finally:
        shutil.rmtree(named, ignore_errors=True)


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
