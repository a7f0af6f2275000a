"""The figures of any number of judged recordings, pooled. Definitions: docs/explanation/scoring.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from msgspec import Struct

from schemas.instants import seconds
from skeletonhunter.scoring.calibration import Calibration, calibrate
from skeletonhunter.scoring.confusion import Confusion, confuse
from skeletonhunter.scoring.summaries import Delays, Rate, Share, delays_of, rate_of, share_of
from skeletonhunter.scoring.verdicts import AlarmVerdict, Cause, FaultVerdict, Score


class DetectionFigures(Struct, frozen=True, kw_only=True):
    """Was there an alarm, and only then? Recall: of faults that probes can see, of all, of those that none can see
    (``told``: by an alarm or as out of coverage).
    ``false_alarms`` per pair-hour. ``duplicates``: further alarms that name the same fault; ``retracted``: incidents
    that blamed the network at first and not at last."""

    alarms: int
    precision: Share
    recall: Share
    recall_with_unreachable: Share
    recall_unreachable: Share
    told_unreachable: Share
    false_alarms: Rate
    false_by_cause: dict[str, int]
    duplicates: int
    retracted: int


class LocalizationFigures(Struct, frozen=True, kw_only=True):
    """Is the blame right? Of right alarms that name a component: ``component`` (reading rules), ``exact`` (same id),
    ``listed`` (among the candidates), ``component_class``, ``issue``. ``located``: right alarms that name one at all.
    Of faults: ``named``."""

    component: Share
    exact: Share
    listed: Share
    component_class: Share
    issue: Share
    located: Share
    named: Share
    named_with_unreachable: Share
    named_unreachable: Share


class DelayFigures(Struct, frozen=True, kw_only=True):
    """From onset to detection, first message and right component; and from detection to right component."""

    detection: Delays
    alarm: Delays
    localization: Delays
    detection_to_localization: Delays


class BystanderFigures(Struct, frozen=True, kw_only=True):
    """Troubles that are no network fault: found as what they are, and taken for faults; and the reverse."""

    monitor_found: Share
    monitor_called_network: Share
    monitor_false: int
    congestion_recognised: Share
    congestion_called_network: Share
    network_called_congestion: Share


class QuarantineFigures(Struct, frozen=True, kw_only=True):
    """Of all isolations asked for: of what is not at fault, and of more than is at fault."""

    unnecessary: Share
    wide: Share


class StepFigures(Struct, frozen=True, kw_only=True):
    """Training steps lost over ``faults`` faults, isolating what is named and isolating nothing; the oracle loses 0."""

    faults: int
    lost: float
    unaided: float
    saved: float | None


class Figures(Struct, frozen=True, kw_only=True):
    """All figures of ``recordings`` recordings."""

    recordings: int
    detection: DetectionFigures
    localization: LocalizationFigures
    delays: DelayFigures
    bystanders: BystanderFigures
    quarantines: QuarantineFigures
    steps: StepFigures
    calibration: Calibration
    confusion: Confusion


def pool(scores: Sequence[Score]) -> Figures:
    """The figures of all recordings together."""
    alarms = [alarm for score in scores for alarm in score.alarms if alarm.standing != "set_aside"]
    faults = [fault for score in scores for fault in score.faults]
    return Figures(
        recordings=len(scores),
        detection=_detection(alarms, faults, scores),
        localization=_localization(alarms, faults),
        delays=_delays(alarms, faults),
        bystanders=_bystanders(scores, faults),
        quarantines=_quarantines(scores),
        steps=_steps(faults),
        calibration=calibrate(alarms),
        confusion=confuse(faults, alarms),
    )


def _detection(
    alarms: Sequence[AlarmVerdict], faults: Sequence[FaultVerdict], scores: Sequence[Score]
) -> DetectionFigures:
    false = [alarm for alarm in alarms if alarm.standing == "false"]
    causes = [cause for cause in get_args(Cause) if cause != "network_fault"]
    return DetectionFigures(
        alarms=len(alarms),
        precision=share_of(alarm.standing == "right" for alarm in alarms),
        recall=share_of(bool(fault.alarms) for fault in faults if fault.in_reach),
        recall_with_unreachable=share_of(bool(fault.alarms) for fault in faults),
        recall_unreachable=share_of(bool(fault.alarms) for fault in faults if not fault.in_reach),
        told_unreachable=share_of(bool(fault.alarms) or fault.told_uncovered for fault in faults if not fault.in_reach),
        false_alarms=rate_of(len(false), sum(score.pair_hours for score in scores)),
        false_by_cause={cause: sum(alarm.cause == cause for alarm in false) for cause in causes},
        duplicates=sum(_repeats(score) for score in scores),
        retracted=sum(score.retracted for score in scores),
    )


def _repeats(score: Score) -> int:
    """Alarms beyond the first that name the same fault; the many links of one switch are one blame."""
    named = [alarm.names for alarm in score.alarms if alarm.named and alarm.exact is not None]
    return len(named) - len(set(named))


def _localization(alarms: Sequence[AlarmVerdict], faults: Sequence[FaultVerdict]) -> LocalizationFigures:
    right = [alarm for alarm in alarms if alarm.standing == "right"]
    judged = [alarm for alarm in right if alarm.named is not None]
    return LocalizationFigures(
        component=share_of(alarm.named for alarm in judged),
        exact=share_of(alarm.exact for alarm in judged),
        listed=share_of(alarm.listed for alarm in judged),
        component_class=share_of(alarm.class_right for alarm in judged),
        issue=share_of(alarm.issue_right for alarm in judged),
        located=share_of(alarm.kind == "network_fault" and alarm.component is not None for alarm in right),
        named=share_of(bool(fault.naming) for fault in faults if fault.in_reach),
        named_with_unreachable=share_of(bool(fault.naming) for fault in faults),
        named_unreachable=share_of(bool(fault.naming) for fault in faults if not fault.in_reach),
    )


def _delays(alarms: Sequence[AlarmVerdict], faults: Sequence[FaultVerdict]) -> DelayFigures:
    return DelayFigures(
        detection=delays_of(fault.detection_s for fault in faults),
        alarm=delays_of(fault.alarm_s for fault in faults),
        localization=delays_of(fault.localization_s for fault in faults),
        detection_to_localization=delays_of(_to_localization(alarm) for alarm in alarms if alarm.named),
    )


def _to_localization(alarm: AlarmVerdict) -> float | None:
    return None if alarm.localized_us is None else max(0.0, seconds(alarm.localized_us - alarm.detected_us))


def _bystanders(scores: Sequence[Score], faults: Sequence[FaultVerdict]) -> BystanderFigures:
    monitors = [fault for score in scores for fault in score.monitor_faults]
    busy = [fault for score in scores for fault in score.congestions]
    calls = [call for score in scores for call in score.monitor_calls]
    return BystanderFigures(
        monitor_found=share_of(fault.found for fault in monitors),
        monitor_called_network=share_of(bool(fault.blamed) for fault in monitors),
        monitor_false=sum(call.standing == "false" for call in calls),
        congestion_recognised=share_of(fault.recognised for fault in busy),
        congestion_called_network=share_of(bool(fault.blamed) for fault in busy),
        network_called_congestion=share_of(fault.called_congestion and not fault.alarms for fault in faults),
    )


def _quarantines(scores: Sequence[Score]) -> QuarantineFigures:
    standings = [quarantine.standing for score in scores for quarantine in score.quarantines]
    return QuarantineFigures(
        unnecessary=_equal_to("unnecessary", standings),
        wide=_equal_to("wide", standings),
    )


def _equal_to(wanted: str, standings: Iterable[str]) -> Share:
    return share_of(standing == wanted for standing in standings)


def _steps(faults: Sequence[FaultVerdict]) -> StepFigures:
    costs = [fault.steps for fault in faults if fault.steps is not None]
    lost, unaided = sum(cost.lost for cost in costs), sum(cost.unaided for cost in costs)
    return StepFigures(
        faults=len(costs), lost=lost, unaided=unaided, saved=1.0 - lost / unaided if unaided > 0 else None
    )
