"""Prints scores for people: tables on stdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from skeletonhunter.evaluation.wording import delay_text, share_text
from skeletonhunter.scoring import BlameCount, Figures, Score, add_counts
from skeletonhunter.scoring.verdicts import AlarmVerdict, FaultVerdict


def print_score(verdict: Score, figures: Figures) -> None:
    """Faults, alarms and figures of one recording."""
    console = Console()
    if verdict.faults:
        console.print(_fault_table(verdict))
    if verdict.alarms:
        console.print(_alarm_table(verdict))
    console.print(_figure_table(verdict.recording, figures))


def print_blames(counts: Mapping[str, BlameCount]) -> None:
    """Found faults and false blames per recording or regime, and pooled."""
    table = Table(
        "", "traces", "faults", "found / false", "precision", "recall", "F1", title="found faults / false blames"
    )
    for name, count in [*counts.items(), ("all", add_counts(list(counts.values())))]:
        table.add_row(
            name,
            str(count.traces),
            str(count.faults),
            f"{count.found} / {count.false_blames}",
            *("-" if value is None else f"{value:.2f}" for value in (count.precision, count.recall, count.f1)),
        )
    Console().print(table)


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """A table whose first row is its head: found faults / false blames of several methods."""
    grid = Table(*rows[0], title="found faults / false blames")
    for row in rows[1:]:
        grid.add_row(*row)
    Console().print(grid)


def _fault_table(verdict: Score) -> Table:
    table = Table("fault", "component", "issue", "alarms", "detected", "named", "said", title="what was wrong")
    for fault in verdict.faults:
        table.add_row(*_fault_row(fault))
    return table


def _fault_row(fault: FaultVerdict) -> tuple[str, ...]:
    reach = "" if fault.in_reach else " (out of reach)"
    return (
        fault.fault,
        fault.component,
        (fault.issue or "-") + reach,
        str(len(fault.alarms)),
        _after(fault.detection_s),
        _after(fault.localization_s),
        fault.said,
    )


def _after(delay_s: float | None) -> str:
    return "no" if delay_s is None else f"after {delay_s:.1f} s"


def _alarm_table(verdict: Score) -> Table:
    table = Table("incident", "says", "confidence", "verdict", title="alarms")
    for alarm in verdict.alarms:
        table.add_row(
            alarm.incident,
            f"{alarm.component or alarm.kind} {alarm.issue or ''}".strip(),
            f"{alarm.confidence:.2f}",
            _in_words(alarm),
        )
    return table


def _in_words(alarm: AlarmVerdict) -> str:
    if alarm.standing == "set_aside":
        return "set aside: a monitor fault withholds the evidence"
    if alarm.standing == "false":
        behind = {"congestion": "congestion", "monitor": "a monitor fault"}.get(alarm.cause, "nothing")
        return f"false: {behind} lies behind it"
    if alarm.named is None:
        return f"right: about {alarm.judged_by}, component not judged"
    wrong = [
        what
        for what, right in (
            ("component", alarm.named),
            ("class", alarm.class_right),
            ("issue", alarm.issue_right),
        )
        if right is False
    ]
    return f"right: about {alarm.judged_by}" + (f", but wrong {', '.join(wrong)}" if wrong else "")


def _figure_table(name: str, figures: Figures) -> Table:
    detection, localization, delays = figures.detection, figures.localization, figures.delays
    table = Table("figure", "value", title=name)
    for label, text in (
        ("precision of alarms", share_text(detection.precision)),
        ("recall", share_text(detection.recall)),
        ("recall with faults out of reach", share_text(detection.recall_with_unreachable)),
        ("component right", share_text(localization.component)),
        ("class right", share_text(localization.component_class)),
        ("issue right", share_text(localization.issue)),
        ("faults named", share_text(localization.named)),
        ("onset to detection", delay_text(delays.detection)),
        ("onset to right component", delay_text(delays.localization)),
        ("detection to right component", delay_text(delays.detection_to_localization)),
        ("false alarms", f"{detection.false_alarms.events} in {detection.false_alarms.hours:.1f} pair-hours"),
        ("unnecessary quarantines", share_text(figures.quarantines.unnecessary)),
        ("monitor faults found", share_text(figures.bystanders.monitor_found)),
        ("monitor faults called network faults", share_text(figures.bystanders.monitor_called_network)),
        ("congestion recognised", share_text(figures.bystanders.congestion_recognised)),
        ("training steps lost", f"{figures.steps.lost:.1f} of {figures.steps.unaided:.1f}"),
    ):
        table.add_row(label, text)
    return table
