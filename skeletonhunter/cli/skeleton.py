"""``skeletonhunter skeleton JOB``: a job's users switch its skeleton off or on, or add pairs to it, by a message.

The message holds all that users want of the job, in addition to the settings: one without ``--add`` takes the pairs of
earlier ones back, one without ``--disable`` switches the job on again. Its version is the time at which it was made.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schemas.envelope import Producer
    from schemas.skeletons import SkeletonOverride

TOPIC = "skeleton-overrides"


def skeleton(
    job: Annotated[str, typer.Argument(help="The job.")],
    *,
    fabric: Annotated[str, typer.Option(help="The fabric that it runs on.")],
    disable: Annotated[bool, typer.Option("--disable", help="Neither infer nor probe.")] = False,
    add: Annotated[
        list[str] | None, typer.Option("--add", help="A pair to probe, 'endpoint,endpoint'; may be repeated.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why, for those who wonder later.")] = "",
    user: Annotated[str | None, typer.Option(help="Who says so (default: the login name).")] = None,
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Prefix of topics and groups.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the message, send nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the message as JSON.")] = False,
) -> None:
    """Switch the monitoring of a job off, or add pairs to it; without either, take both back."""
    import os
    import time

    import msgspec
    from rich.console import Console

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.announcing import announce, check, person
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.settings import SettingsError, load_settings

    try:
        settings = load_settings(config, os.environ, {"kafka.url": kafka, "kafka.prefix": prefix})
    except SettingsError as error:
        raise InputError(str(error)) from error
    pairs = tuple(read_pair(text) for text in add or ())
    now_us = time.time_ns() // 1000
    wish = make_override((fabric, job), disable, pairs, (person(user, TOPIC, now_us), reason), now_us)
    check(TOPIC, wish.job, wish)
    if not dry_run:
        announce(settings.kafka, TOPIC, wish.job, wish)
    if as_json or dry_run:
        print_json(msgspec.to_builtins(wish))
        return
    wanted = "switched off" if disable else f"on, {len(pairs)} pairs added"
    Console().print(f"{job}: {wanted}", highlight=False, markup=False)


def read_pair(text: str) -> tuple[str, str]:
    """The two endpoints in ``text``.

    Raises:
        InputError: they are not two different ones.
    """
    from skeletonhunter.cli import InputError

    ends = [end.strip() for end in text.split(",")]
    if len(ends) != 2 or not all(ends) or ends[0] == ends[1]:
        raise InputError(f"--add {text}: expected two different endpoints, '<container>/<rnic>,<container>/<rnic>'")
    return ends[0], ends[1]


def make_override(
    where: tuple[str, str], disabled: bool, edges: tuple[tuple[str, str], ...], said: tuple[Producer, str], now_us: int
) -> SkeletonOverride:
    """The message. ``where``: fabric and job; ``said``: who, and why."""
    from schemas.folding import DERIVED_CLOCK
    from schemas.skeletons import SkeletonOverride

    return SkeletonOverride(
        v=1,
        t_us=now_us,
        producer=said[0],
        clock=DERIVED_CLOCK,
        fabric=where[0],
        job=where[1],
        version=now_us,
        disabled=disabled,
        edges=edges,
        reason=said[1],
    )
