"""``skeletonhunter simulate SCENARIO -o REC``: the testbed writes a recording with truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from skeletonhunter.testbed.scenario import Scenario


def simulate(
    scenario: Annotated[str, typer.Argument(help="A scenario file (.toml, .json), or a permanent id.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The recording: a directory or a .tar.zst file.")],
    *,
    seed: Annotated[int | None, typer.Option(min=0, help="Another seed than the scenario's.")] = None,
    open_loop: Annotated[bool, typer.Option(help="Probe the true pairs instead of following the planner.")] = False,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print manifest and truth as JSON.")] = False,
) -> None:
    """Simulate a fabric, its jobs, faults and monitor; write what the monitor received as a recording with truth."""
    import os

    import msgspec
    from rich.console import Console

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import print_json, progress_bar
    from skeletonhunter.recordings.manifest import RecordingError
    from skeletonhunter.replaying.simulating import simulate_recording
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.testbed.scenario import ScenarioError

    try:
        parameters = load_settings(config, os.environ).parameters
        found = _scenario(scenario, seed)
        with progress_bar(f"simulating {found.name}", found.seconds) as progress:
            written = simulate_recording(found, output, None if open_loop else parameters, progress)
    except (ScenarioError, RecordingError, SettingsError) as error:
        raise InputError(str(error)) from error
    if as_json:
        print_json({"manifest": msgspec.to_builtins(written.manifest), "truth": written.truth})
        return
    faults = [*written.truth["faults"], *written.truth["monitor_faults"]]
    told = ", ".join(f"{f.get('issue') or f['kind']} at {f['component']}" for f in faults) or "nothing goes wrong"
    lines = sum(written.manifest.topics.values())
    Console().print(f"{output}: {lines:,} messages of {found.seconds} s; {told}", highlight=False, markup=False)


def _scenario(text: str, seed: int | None) -> Scenario:
    from msgspec.structs import replace

    from skeletonhunter.evaluation.scenarios import parse_scenario
    from skeletonhunter.testbed.catalogue import scenario_of
    from skeletonhunter.testbed.scenario import ScenarioError, read_scenario

    if text.endswith((".toml", ".json")):
        found = read_scenario(Path(text))
        return found if seed is None else replace(found, seed=seed)
    try:
        case = parse_scenario(text)
    except ValueError as error:
        raise ScenarioError(f"{error} (a file's name ends in .toml or .json)") from error
    return scenario_of(case.subject, case.size, case.seed if seed is None else seed)
