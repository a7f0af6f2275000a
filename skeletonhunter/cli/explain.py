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
    import os

    from skeletonhunter.cli.incident_choice import choose, from_clickhouse, from_file, opened_clickhouse

    files = [word for word in what if word == "-" or os.path.lexists(word)]
    names = [word for word in what if word not in files]
    if len(files) > 1 or len(names) > 1:
        raise typer.BadParameter("expected at most one file and one incident id")
    if files:
        return choose(from_file(files[0]), names[0] if names else None, files[0])[-1]
    with opened_clickhouse(clickhouse, config, names[0]) as (client, database, shown):
        return from_clickhouse(client, database, names[0], shown)
