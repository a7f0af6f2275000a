"""``score``: how good is an incident list, given what was really wrong in the recording?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def score(
    recording: Annotated[
        Path, typer.Argument(metavar="REC", help="Recording (directory or .tar.zst) with truth.json.")
    ],
    incidents: Annotated[Path, typer.Argument(help="Incidents, one JSON object per line, as replay -o writes them.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print figures and every verdict as JSON.")] = False,
    referee: Annotated[
        bool, typer.Option("--referee", help="Only count found faults and false blames, as the localization cases do.")
    ] = False,
) -> None:
    """Judge incidents against their recording's truth: detection, localization, delays, quarantines, steps lost."""
    from skeletonhunter.cli import InputError
    from skeletonhunter.evaluation.reading import IncidentsError
    from skeletonhunter.recordings.manifest import RecordingError

    try:
        _score(recording, incidents, as_json, referee)
    except (RecordingError, IncidentsError) as error:
        raise InputError(str(error)) from error


def _score(path: Path, incidents_path: Path, as_json: bool, referee: bool) -> None:
    import msgspec

    from skeletonhunter.cli.printing import print_json, progress_bar
    from skeletonhunter.evaluation.cases import count_as_json
    from skeletonhunter.evaluation.reading import facts_of, read_incidents, truth_of
    from skeletonhunter.evaluation.terminal import print_blames, print_score
    from skeletonhunter.recordings.reader import Recording
    from skeletonhunter.scoring import count_blames, pool
    from skeletonhunter.scoring import score as judge

    incidents = read_incidents(incidents_path)
    with Recording(path) as recording:
        truth = truth_of(recording)
        with progress_bar("reading", recording.count) as progress:
            facts = facts_of(recording, progress)
    if referee:
        count = count_blames(truth, incidents, facts)
        print_json(count_as_json(count)) if as_json else print_blames({facts.name: count})
        return
    verdict = judge(truth, incidents, facts)
    figures = pool([verdict])
    if as_json:
        print_json(msgspec.to_builtins({"figures": figures, "verdicts": verdict}))
    else:
        print_score(verdict, figures)
