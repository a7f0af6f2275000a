"""Which incident is meant? One of a file as ``replay -o`` writes it, or of ClickHouse; shared by what shows one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

    from schemas.diagnosis import Incident


def from_file(name: str) -> dict[str, list[Incident]]:
    """All messages of each incident of a file (- is standard input), by id, oldest first.

    Raises:
        InputError: it can't be read, or holds something else.
    """
    import sys
    import tempfile

    from skeletonhunter.cli import InputError
    from skeletonhunter.evaluation.reading import IncidentsError, read_incidents

    found: dict[str, list[Incident]] = {}
    try:
        if name != "-":
            incidents = read_incidents(Path(name))
        else:
            with tempfile.NamedTemporaryFile(prefix="standard-input-") as copy:
                copy.write(sys.stdin.buffer.read())
                copy.flush()
                incidents = read_incidents(Path(copy.name))
    except IncidentsError as error:
        raise InputError(str(error)) from error
    for incident in incidents:
        found.setdefault(incident.incident, []).append(incident)
    return found


def choose(known: dict[str, list[Incident]], name: str | None, place: str) -> list[Incident]:
    """The messages of the incident of that name, or of the only one.

    Raises:
        InputError: there is none, or there are several and none was named.
    """
    from skeletonhunter.cli import InputError

    if name is None and len(known) == 1:
        return next(iter(known.values()))
    listed = ", ".join(sorted(known)) or "none"
    if name is None:
        raise InputError(f"{place}: holds {len(known)} incidents, expected the id of one of them: {listed}")
    if name not in known:
        raise InputError(f"{place}: there is no incident {name!r}, expected one of {listed}")
    return known[name]


@contextmanager
def opened_clickhouse(
    clickhouse: str | None, config: Path | None, sought: str | None = None
) -> Iterator[tuple[Client, str, str]]:
    """A client, the database, and the DSN as it may be shown; ``sought``: an incident that may be a file's name.

    Raises:
        InputError: the settings are wrong, or ClickHouse can't be used.
    """
    import os

    from skeletonhunter.cli import InputError
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.sinks.connection import connect, database_of, faults_of_clickhouse, need_database, redacted

    try:
        settings = load_settings(config, os.environ, {"clickhouse.dsn": clickhouse}).clickhouse
    except SettingsError as error:
        raise InputError(str(error)) from error
    with faults_of_clickhouse(settings.dsn, InputError):
        need_database(settings, f"{sought}: there is no such file, and " if sought else "")
        client = connect(settings)
        try:
            yield client, database_of(settings), redacted(settings.dsn)
        finally:
            client.close()


def from_clickhouse(client: Client, database: str, name: str, shown: str) -> Incident:
    """The incident as it stands in the view ``incidents_current``.

    Raises:
        InputError: there is none.
    """
    from skeletonhunter.cli import InputError

    query = f"SELECT * FROM {database}.incidents_current WHERE incident = {{name:String}}"
    rows = list(client.query(query, parameters={"name": name}).named_results())
    if not rows:
        raise InputError(f"{shown}: there is no incident {name!r}, and no file of that name either")
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
