"""Pictures of a job's traffic: who bursts when, and which rhythm that has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.collections import LineCollection
from matplotlib.ticker import FuncFormatter, NullFormatter
from scipy.signal import stft

from schemas.instants import SECOND_US
from schemas.skeletons import SkeletonUpdate
from schemas.telemetry import Burst
from skeletonhunter.evaluation.drawing import BLUE, FAULT, INK, LOOK, ORANGE, QUIET, blank, save
from skeletonhunter.evaluation.skeletons.layout import Spot
from skeletonhunter.evaluation.skeletons.traffic import FloatArray, JobTraffic

SHOWN_PERIODS, SHOWN_S, LEAST_SHOWN_S = 2.0, 240.0, 10.0
LEAST_LINE = 1 / 500
"""Shorter bursts are drawn so long, as a share of the picture's width, or nobody would see them."""

MOST_ROWS = 64
"""More endpoints than this can't be told apart in a picture: whole rails are left out, and the title says so."""

LEAST_PERIOD_S = 2.0


def plot_bursts(update: SkeletonUpdate, traffic: JobTraffic, spots: Mapping[str, Spot], path: Path) -> Path:
    """Each endpoint's bursts over the last two periods, or without bursts its rate; rows in order of the skeleton."""
    names = _shown_rows(spots)
    with rc_context(LOOK):
        figure = blank(10.5, 1.6 + 0.115 * max(len(names), 16))
        axes = figure.subplots()
        length_s = max(LEAST_SHOWN_S, SHOWN_PERIODS * (update.period_s or SHOWN_S / SHOWN_PERIODS))
        what = _draw_bursts if any(traffic.bursts.get(name) for name in names) else _draw_rates
        label = what(axes, traffic, names, length_s)
        _mark_rows(axes, names, spots)
        rails = sorted({spots[name].rail for name in names})
        part = "" if len(names) == len(spots) else f", rails {rails[0]} to {rails[-1]} of {_rails(spots)}"
        axes.set_title(f"{update.job}: {label}, {len(names)} of {len(spots)} RNICs{part}")
        return save(figure, path)


def _shown_rows(spots: Mapping[str, Spot]) -> list[str]:
    names: list[str] = []
    for rail in sorted({spot.rail for spot in spots.values()}):
        more = [name for name, spot in spots.items() if spot.rail == rail]
        if names and len(names) + len(more) > MOST_ROWS:
            break
        names += more
    return names


def _rails(spots: Mapping[str, Spot]) -> int:
    return len({spot.rail for spot in spots.values()})


def _draw_bursts(axes: Any, traffic: JobTraffic, names: Sequence[str], length_s: float) -> str:
    """Lines from start to end: sent above, received below the middle of a row."""
    end_us = max(burst.end_us for name in names for burst in traffic.bursts.get(name, ()))
    start_us = end_us - round(length_s * SECOND_US)
    for direction, colour, offset, label in (("tx", BLUE, -0.2, "sent"), ("rx", ORANGE, 0.2, "received")):
        lines = [
            _line(b, start_us, row + offset, length_s * LEAST_LINE)
            for row, name in enumerate(names)
            for b in traffic.bursts.get(name, ())
            if b.direction == direction and b.end_us >= start_us
        ]
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=2.0, capstyle="butt", label=label))
    axes.set_xlim(0.0, length_s)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1, ncols=2, handlelength=1.2)
    axes.set_xlabel(f"seconds of the last {length_s:.0f}", loc="left")
    return "bursts"


def _line(burst: Burst, start_us: int, row: float, least_s: float) -> list[tuple[float, float]]:
    begin_s, end_s = (burst.start_us - start_us) / SECOND_US, (burst.end_us - start_us) / SECOND_US
    return [(begin_s, row), (max(end_s, begin_s + least_s), row)]


def _draw_rates(axes: Any, traffic: JobTraffic, names: Sequence[str], length_s: float) -> str:
    _, rates = traffic.rates(names)
    if not np.isfinite(rates).any():
        axes.text(0.5, 0.5, "no traffic observed", transform=axes.transAxes, ha="center", color=QUIET)
        return "no traffic"
    shown = rates[:, -max(round(length_s), 1) :]
    top = float(np.nanpercentile(shown, 99)) if np.isfinite(shown).any() else 0.0
    extent = (0.0, float(shown.shape[1]), len(names) - 0.5, -0.5)
    image = axes.imshow(
        shown, cmap="Blues", vmin=0.0, vmax=max(top, 1e-3), aspect="auto", extent=extent, interpolation="none"
    )
    axes.set_facecolor("#f3e3c8")
    axes.figure.colorbar(image, ax=axes, label="sent, Gb/s", pad=0.01, shrink=0.8)
    axes.set_xlabel(f"seconds of the last {shown.shape[1]} (no value: not observed)", loc="left")
    return "bytes sent (no bursts recorded)"


def _mark_rows(axes: Any, names: Sequence[str], spots: Mapping[str, Spot]) -> None:
    """A line between rails, a thin one between stages; labels in the middle of each rail."""
    axes.set_ylim(len(names) - 0.4, -0.6)
    marks: dict[tuple[int, int], list[int]] = {}
    for row, name in enumerate(names):
        marks.setdefault((spots[name].rail, spots[name].stage), []).append(row)
    for (rail, stage), rows in marks.items():
        axes.axhline(rows[0] - 0.5, color=INK if stage == 0 else QUIET, lw=0.9 if stage == 0 else 0.4)
        several = sum(1 for other, _ in marks if other == rail) > 1
        text = f"rail {rail}, stage {stage}" if several else f"rail {rail}"
        axes.text(-0.005, (rows[0] + rows[-1]) / 2, text, transform=axes.get_yaxis_transform(), ha="right", va="center",
                  fontsize=7, color=INK)  # fmt: skip
    axes.set_yticks([])


def plot_rhythm(update: SkeletonUpdate, traffic: JobTraffic, names: Sequence[str], path: Path) -> Path:
    """The job's rate over time, its spectrogram with the period, and the autocorrelation."""
    _, rates = traffic.rates(names)
    total = np.nan_to_num(np.nansum(rates, axis=0)) if rates.size else np.zeros(0)
    with rc_context(LOOK):
        figure = blank(10.5, 7.2)
        upper, middle, lower = figure.subplots(3, 1, height_ratios=[1.2, 2, 1.3])
        upper.plot(np.arange(len(total)), total, color=BLUE, lw=0.6)
        upper.set_ylabel("sent by all,\nGb/s")
        upper.set_ylim(bottom=0)
        upper.set_xlim(0, max(len(total), 1))
        period = "no period" if update.period_s is None else f"period {update.period_s:.4g} s"
        upper.set_title(f"{update.job}: {period}, {update.state}, confidence {update.confidence:.2f}")
        _draw_spectrogram(middle, total, update.period_s)
        _draw_autocorrelation(lower, total, update.period_s)
        return save(figure, path)


def _draw_spectrogram(axes: Any, total: FloatArray, period_s: float | None) -> None:
    """Magnitudes of the STFT in windows of six periods, each frequency shown by its period."""
    if len(total) < 16:
        axes.text(0.5, 0.5, "too short", transform=axes.transAxes, ha="center", color=QUIET)
        return
    window = int(np.clip(6.0 * (period_s or 20.0), 16, len(total) // 2))
    frequency, at_s, values = stft(
        total - total.mean(), nperseg=window, noverlap=window * 7 // 8, boundary=None, padded=False
    )
    kept = (frequency > 0) & (frequency <= 1.0 / LEAST_PERIOD_S)
    level = 20.0 * np.log10(np.abs(values[kept]) + 1e-9)
    top = float(level.max())
    mesh = axes.pcolormesh(
        at_s, frequency[kept], level, cmap="magma", vmin=top - 40.0, vmax=top, shading="nearest", rasterized=True
    )
    axes.figure.colorbar(mesh, ax=axes, label="dB", pad=0.01)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{1.0 / value:.3g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    ticks = [1.0 / s for s in (2, 5, 10, 20, 50, 100, 200, 500) if frequency[kept][0] <= 1.0 / s]
    axes.set_yticks(ticks)
    if period_s is not None:
        axes.axhline(1.0 / period_s, color="cyan", lw=1.2, ls=(0, (4, 3)))
        axes.set_title("dashed: the period that was found", loc="right", fontsize=8, fontweight="normal")
    axes.set_xlim(0, len(total))
    axes.set_ylabel("period of the\nfrequency, s")
    axes.set_xlabel("seconds of the recording")


def _draw_autocorrelation(axes: Any, total: FloatArray, period_s: float | None) -> None:
    centred = total - total.mean() if len(total) else total
    size = 1 << (2 * max(len(centred), 2) - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size)) ** 2
    correlation = np.fft.irfft(spectrum)[: max(len(total) // 2, 1)]
    correlation = correlation / max(float(correlation[0]), 1e-12)
    most = len(correlation) if period_s is None else min(len(correlation), round(8.5 * period_s) + 2)
    axes.plot(np.arange(most), correlation[:most], color=BLUE, lw=1.0)
    axes.axhline(0, color=QUIET, lw=0.6)
    if period_s is not None:
        for number in range(1, int(most / period_s) + 1):
            label = "period and its multiples" if number == 1 else None
            axes.axvline(number * period_s, color=FAULT, lw=0.8, ls=":", label=label)
        axes.legend(loc="upper right")
    axes.set_xlim(0, max(most, 2))
    axes.set_ylabel("auto-\ncorrelation")
    axes.set_xlabel("lag, s")
