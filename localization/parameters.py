"""What detection and localization are tuned by: each number with its unit, its reason and its bounds."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Positive = Annotated[float, Meta(gt=0.0)]
Probability = Annotated[float, Meta(gt=0.0, lt=1.0)]


class DetectionParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """How pairs are judged.

    ``false_alarm_pair_hours``: mean time between false alarms of one healthy pair and test; all thresholds follow
    from it. ``background_loss`` is what a path loses before anything is known, worth ``background_packets`` packets
    against a pair's own history. ``loss_alternatives``: the loss rates that the sequential test looks for.
    ``latency_allowance_sigma``: half the shift that the latency test is fastest for. ``latency_clip_sigma``: what one
    window can say at most. ``sigma_floor``: least standard deviation of ln RTT, an effect-size floor.
    ``outlier_factor``: local outlier factor from which half a minute is unlike the five before. ``drift_sigma``: by how
    many standard deviations of single probes half an hour must be slower than the reference. ``least_shift_us``: what
    these two call an anomaly at least.
    ``stable_s``: how long a pair must be well before its anomaly is cleared. ``silent_s``: a pair that was not probed
    for that long has no anomaly any more. ``forget_s``: and after that, no history.
    """

    false_alarm_pair_hours: Positive = 10_000.0
    failed_trains: Annotated[int, Meta(ge=1)] = 2
    background_loss: Probability = 1e-4
    background_packets: Positive = 100_000.0
    loss_alternatives: Annotated[tuple[Probability, ...], Meta(min_length=1)] = (0.002, 0.005, 0.015, 0.05, 0.2, 0.8)
    latency_allowance_sigma: Positive = 1.0
    latency_clip_sigma: Positive = 4.0
    sigma_floor: Positive = 0.1
    outlier_factor: Annotated[float, Meta(gt=1.0)] = 1.6
    drift_sigma: Positive = 0.6
    least_shift_us: Positive = 3.0
    stable_s: Positive = 15.0
    silent_s: Positive = 120.0
    forget_s: Positive = 900.0


class LocalizationParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """How causes are found.
     ``settle_s``: wait after a detection, so that the other victims of the same cause are known. ``decided_nats``: a
    steady fault does not wait that leads by so much over whatever else could be to blame; a second of losses of two
    pairs is worth 20. ``patience_s``: wait before an incident without a culprit is opened. ``quiet_s``: how long all
    must be well before an incident is resolved. ``window_s``: length of the evidence kept of pairs and queues.
    ``false_blame_share``: chance that a healthy fabric is blamed in one such window; with the number of suspects it
    sets the evidence that a blame needs. ``least_loss``: a link that loses less is not called faulty. ``hop_loss``:
    what a hop loses before anything is known, worth ``hop_losses`` lost packets. ``flow_history_s``,
    ``event_history_s``: how long changes of flow tables and device events are kept. ``clock_bound_s``: a clock that may
    be off by more is not joined with.
    """

    settle_s: Annotated[float, Meta(ge=0.0)] = 1.0
    decided_nats: Positive = 20.0
    patience_s: Annotated[float, Meta(ge=0.0)] = 5.0
    quiet_s: Positive = 15.0
    window_s: Annotated[int, Meta(ge=10, le=600)] = 60
    false_blame_share: Probability = 1e-3
    least_loss: Probability = 5e-4
    hop_loss: Probability = 2e-5
    hop_losses: Positive = 3.0
    flow_history_s: Positive = 900.0
    event_history_s: Positive = 900.0
    clock_bound_s: Positive = 0.25
