"""``skeletonhunter feedback INCIDENT``: what operators found the cause to be, for the figures of alarm quality."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from schemas.diagnosis import OperatorFeedback
    from schemas.envelope import Producer

TOPIC = "operator-feedback"
COMPONENT_KINDS = (
    "vif",
    "tunnel",
    "switch",
    "port",
    "link",
    "rnic",
    "host",
    "vswitch",
    "container",
    "config",
    "agent",
    "clock",
)
"""What may stand before the colon of a component id."""


class Verdict(StrEnum):
    """What operators say of an incident."""

    right = "right"
    wrong = "wrong"
    component = "component"


def feedback(
    incident: Annotated[
        str | None, typer.Argument(help="The incident's id; none with --missed, for a fault that raised no incident.")
    ] = None,
    *,
    fabric: Annotated[str, typer.Option(help="The fabric that it is about.")],
    verdict: Annotated[
        Verdict | None,
        typer.Option(help="right; wrong: nothing was broken; component: a fault, but of what --was names."),
    ] = None,
    was: Annotated[str | None, typer.Option(help="Component that it really was, such as rnic:host-7/mlx5_2.")] = None,
    fixed: Annotated[bool, typer.Option("--fixed", help="The component has been repaired.")] = False,
    missed: Annotated[bool, typer.Option("--missed", help="There was a fault that raised no incident.")] = False,
    text: Annotated[str, typer.Option(help="More, in words.")] = "",
    user: Annotated[str | None, typer.Option(help="Who says so (default: the login name).")] = None,
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Prefix of topics and groups.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the message, send nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the message as JSON.")] = False,
) -> None:
    """Say whether an incident was right, what it was if not, and whether it is repaired; or report a missed fault."""
    import os
    import time

    import msgspec
    from rich.console import Console

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.announcing import announce, check, person
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.settings import SettingsError, load_settings

    now_us = time.time_ns() // 1000
    if missed and (incident or verdict):
        raise InputError("--missed: expected neither an incident nor --verdict, there was no incident to judge")
    answer = missed_fault(was, now_us) if missed else judged(incident, verdict, was)
    try:
        settings = load_settings(config, os.environ, {"kafka.url": kafka, "kafka.prefix": prefix})
    except SettingsError as error:
        raise InputError(str(error)) from error
    message = _message(fabric, answer, (fixed, text), person(user, TOPIC, now_us), now_us)
    check(TOPIC, message.incident, message)
    if not dry_run:
        announce(settings.kafka, TOPIC, message.incident, message)
    if as_json or dry_run:
        print_json(msgspec.to_builtins(message))
        return
    Console().print(
        f"{message.incident}: {message.verdict}{f', it was {was}' if was else ''}", highlight=False, markup=False
    )


class Answer(NamedTuple):
    """Of which incident, what of it, and what it really was."""

    incident: str
    verdict: Verdict
    was: str | None


def judged(incident: str | None, verdict: Verdict | None, was: str | None) -> Answer:
    """An answer to an incident.

    Raises:
        InputError: something is missing, or contradicts.
    """
    from skeletonhunter.cli import InputError

    if not incident:
        raise InputError("INCIDENT: is missing, expected an incident's id, or --missed with --was COMPONENT")
    if verdict is None:
        raise InputError(f"--verdict: is missing, expected one of {', '.join(Verdict)}")
    if verdict is Verdict.component and not was:
        raise InputError("--was: is missing, expected the component that it really was with --verdict component")
    if verdict is not Verdict.component and was:
        raise InputError(f"--was {was}: contradicts --verdict {verdict}, expected --verdict component")
    return Answer(incident, verdict, _component(was))


def missed_fault(was: str | None, now_us: int) -> Answer:
    """The report of a fault that raised no incident: under an id that no incident has.

    Raises:
        InputError: nothing says what failed.
    """
    from schemas.ids import content_id
    from skeletonhunter.cli import InputError

    if not was:
        raise InputError("--was: is missing, expected the component that failed with --missed")
    return Answer(content_id("missed", was, now_us), Verdict.component, _component(was))


def _component(was: str | None) -> str | None:
    """The component id as it was given.

    Raises:
        InputError: it names no kind of component.
    """
    from skeletonhunter.cli import InputError

    kind, _, name = (was or "").partition(":")
    if was and (kind not in COMPONENT_KINDS or not name):
        raise InputError(f"--was {was}: expected <kind>:<name> with a kind of {', '.join(COMPONENT_KINDS)}")
    return was


def _message(fabric: str, answer: Answer, said: tuple[bool, str], producer: Producer, now_us: int) -> OperatorFeedback:
    from schemas.diagnosis import OperatorFeedback
    from schemas.folding import DERIVED_CLOCK

    return OperatorFeedback(
        v=1,
        t_us=now_us,
        producer=producer,
        clock=DERIVED_CLOCK,
        fabric=fabric,
        incident=answer.incident,
        verdict=answer.verdict.value,
        was=answer.was,
        fixed=said[0],
        text=said[1],
    )
