"""What was not there to be seen, as Markdown: faults out of probes' reach, and scenarios without some evidence."""

from __future__ import annotations

from collections.abc import Mapping

from skeletonhunter.evaluation.ablations import EvidenceName
from skeletonhunter.evaluation.markdown_rows import table
from skeletonhunter.evaluation.wording import NOTHING, delay_text, share_text
from skeletonhunter.scoring import Figures
from skeletonhunter.scoring.contrasts import Ablation, Change

COVERAGE = (
    "A probe travels from RNIC to RNIC. Paths inside a host, between GPUs (NVLink) and from a GPU to its RNIC (PCIe, "
    "GPUDirect), carry none, so a fault there shows only where data happens to start in host memory, in what the "
    "device says of itself, or in slower steps. Such faults are out of coverage; recall is stated with and without "
    "them.\n\n"
)


def coverage(overall: Figures, unseen: Mapping[str, Figures]) -> str:
    """Recall with and without the faults that no probe can see, and what became of those."""
    detection, localization = overall.detection, overall.localization
    rows = [
        ["within reach", share_text(detection.recall), share_text(localization.named)],
        [
            "with those out of reach",
            share_text(detection.recall_with_unreachable),
            share_text(localization.named_with_unreachable),
        ],
    ]
    text = COVERAGE + table(["faults", "recall", "named"], rows)
    if not unseen:
        return text + "\nNo fault of these scenarios is out of reach.\n"
    seen = [
        [
            subject,
            str(figures.recordings),
            share_text(figures.detection.recall_unreachable),
            share_text(figures.detection.told_unreachable),
            share_text(figures.localization.named_unreachable),
        ]
        for subject, figures in unseen.items()
    ]
    return (
        text
        + "\n"
        + table(
            ["out of reach", "scenarios", "detected nevertheless", "or told as uncovered", "named nevertheless"], seen
        )
    )


def ablations(found: Mapping[EvidenceName, Ablation]) -> str:
    """For each kind of evidence the same scenarios with and without it, and the faults that make the difference."""
    rows: list[list[str]] = []
    compared: list[Figures] = []
    for name, ablation in found.items():
        if ablation.whole not in compared:
            compared.append(ablation.whole)
            count = f"nothing ({ablation.whole.recordings} scenarios)"
            rows.append([count, *_figures(ablation.whole), NOTHING, NOTHING])
        changes = (_change(ablation.named), _change(ablation.issue))
        rows.append([f"{name} ({ablation.without.recordings} scenarios)", *_figures(ablation.without), *changes])
    head = ["taken away", *FIGURES, "named: lost / gained", "issue: lost / gained"]
    note = (
        "The same recordings, diagnosed again with one kind of evidence taken out of what the engines see. `queues`: "
        "all of `switch-queues`; `healthy-pairs`: pairs reach the fabric-wide inference only while they have an open "
        "anomaly. Lost: faults that are named (whose issue is said) only with the evidence; p: exact McNemar test.\n\n"
    )
    return note + table(head, rows)


FIGURES = (
    "recall",
    "precision",
    "component right",
    "faults named",
    "issue right",
    "congestion blamed",
    "unneeded quarantines",
    "onset to component",
    "Brier",
)


def _figures(figures: Figures) -> list[str]:
    brier = figures.calibration.brier
    return [
        share_text(figures.detection.recall),
        share_text(figures.detection.precision),
        share_text(figures.localization.component),
        share_text(figures.localization.named),
        share_text(figures.localization.issue),
        share_text(figures.bystanders.congestion_called_network),
        share_text(figures.quarantines.unnecessary),
        delay_text(figures.delays.localization),
        NOTHING if brier is None else f"{brier:.3f}",
    ]


def _change(change: Change) -> str:
    return f"{change.lost} / {change.gained} (p = {change.p:.2g})"
