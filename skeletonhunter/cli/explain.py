"""``skeletonhunter explain``: the reasoning behind an incident, in plain words, every number with its source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schemas.diagnosis import Incident


def explain(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="[FILE] [INCIDENT]",
            help="Incidents as replay -o writes them (- is standard input), and which one; the id may be left out "
            "when there is only one, the file when the incident is in ClickHouse.",
        ),
    ],
    *,
    clickhouse: Annotated[str | None, typer.Option(help="ClickHouse DSN (default: as configured).")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the incident with its trace as JSON.")] = False,
) -> None:
    """Say in plain words what broke, why we think so, what else it could be, and what to do."""
    import msgspec

    from localization.narrative import narrate
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.replaying.summary import instant

    incident = _find(what, clickhouse, config)
    if as_json:
        print_json(msgspec.to_builtins(incident))
    else:
        typer.echo(narrate(incident, instant))


def _find(what: list[str], clickhouse: str | None, config: Path | None) -> Incident:
    files = [word for word in what if word == "-" or Path(word).exists()]
    names = [word for word in what if word not in files]
    if len(files) > 1 or len(names) > 1:
        raise typer.BadParameter("expected at most one file and one incident id")
    if files:
        known = _from_file(files[0])
        return _choose(known, names[0] if names else None, files[0])
    return _from_clickhouse(names[0], clickhouse, config)


def _from_file(name: str) -> dict[str, Incident]:
    """The newest state of each incident of a file, by id."""
    import sys
    import tempfile

    from skeletonhunter.cli import InputError
    from skeletonhunter.evaluation.reading import IncidentsError, read_incidents

    try:
        if name != "-":
            return {incident.incident: incident for incident in read_incidents(Path(name))}
        with tempfile.NamedTemporaryFile(prefix="standard-input-") as copy:
            copy.write(sys.stdin.buffer.read())
            copy.flush()
            return {incident.incident: incident for incident in read_incidents(Path(copy.name))}
    except IncidentsError as error:
        raise InputError(str(error)) from error


def _choose(known: dict[str, Incident], name: str | None, place: str) -> Incident:
    from skeletonhunter.cli import InputError

    if name is None and len(known) == 1:
        return next(iter(known.values()))
    listed = ", ".join(sorted(known)) or "none"
    if name is None:
        raise InputError(f"{place}: holds {len(known)} incidents, expected the id of one of them: {listed}")
    if name not in known:
        raise InputError(f"{place}: there is no incident {name!r}, expected one of {listed}")
    return known[name]


def _from_clickhouse(name: str, clickhouse: str | None, config: Path | None) -> Incident:
    """The incident as it stands in the view ``incidents_current``."""
    import os

    from skeletonhunter.cli import InputError
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.sinks.connection import connect, database_of, faults_of_clickhouse, redacted

    try:
        settings = load_settings(config, os.environ, {"clickhouse.dsn": clickhouse}).clickhouse
    except SettingsError as error:
        raise InputError(str(error)) from error
    with faults_of_clickhouse(settings.dsn, InputError):
        client = connect(settings)
        try:
            query = f"SELECT * FROM {database_of(settings)}.incidents_current WHERE incident = {{name:String}}"
            rows = list(client.query(query, parameters={"name": name}).named_results())
        finally:
            client.close()
    if not rows:
        raise InputError(f"{redacted(settings.dsn)}: there is no incident {name!r}, and no file of that name either")
    return _incident_of(rows[0])


def _incident_of(row: dict[str, object]) -> Incident:
    import msgspec
    import orjson

    from schemas.diagnosis import Incident
    from schemas.folding import DERIVED_CLOCK, derived_producer

    def column(name: str) -> list[object]:
        found = row[name]
        return list(found) if isinstance(found, list | tuple) else []

    evidence = zip(*(column(f"evidence_{part}") for part in ("topics", "t_us", "refs", "texts")), strict=True)
    scores = zip(column("candidate_components"), column("candidate_scores"), strict=True)
    wire = {
        **row,
        "v": 1,
        "producer": msgspec.to_builtins(derived_producer("localization", str(row["fabric"]), 0)),
        "clock": msgspec.to_builtins(DERIVED_CLOCK),
        "candidates": [{"component": name, "score": score} for name, score in scores],
        "evidence": [dict(zip(("topic", "t_us", "ref", "text"), each, strict=True)) for each in evidence],
        "trace": orjson.loads(str(row["trace"])),
        "action": {"kind": row["action_kind"], "target": row["action_target"], "why": row["action_why"]},
    }
    return msgspec.convert(wire, Incident)
