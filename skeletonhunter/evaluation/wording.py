"""Figures as short text, the same in the terminal and in Markdown; ``-`` where there was nothing to count."""

from __future__ import annotations

from skeletonhunter.scoring.summaries import Delays, Rate, Share

NOTHING = "-"


def percent(share: float | None) -> str:
    """``97.3 %``."""
    return NOTHING if share is None else f"{100 * share:.1f} %"


def share_text(share: Share) -> str:
    """``97.3 % (72 of 74; 90.7 to 99.3)``."""
    if share.share is None or share.low is None or share.high is None:
        return NOTHING
    return f"{percent(share.share)} ({share.hits} of {share.of}; {100 * share.low:.1f} to {100 * share.high:.1f})"


def share_brief(share: Share) -> str:
    """``97.3 % of 74``."""
    return NOTHING if share.share is None else f"{percent(share.share)} of {share.of}"


def seconds_text(value_s: float | None) -> str:
    """``4.2 s``."""
    return NOTHING if value_s is None else f"{value_s:.1f} s"


def delay_text(delays: Delays) -> str:
    """``mean 4.2 s (3.1 to 5.6), median 3.0, p99 20.1``."""
    if delays.mean_s is None:
        return NOTHING
    interval = "" if delays.low_s is None else f" ({delays.low_s:.1f} to {delays.high_s:.1f})"
    return f"mean {delays.mean_s:.1f} s{interval}, median {delays.median_s:.1f}, p99 {delays.p99_s:.1f}"


def rate_text(rate: Rate) -> str:
    """``3 in 1200.0 pair-hours (2.5 per 1,000; 0.5 to 7.3)``."""
    if rate.per_hour is None or rate.low is None or rate.high is None:
        return f"{rate.events} in {rate.hours:.1f} pair-hours"
    per, low, high = (1000 * value for value in (rate.per_hour, rate.low, rate.high))
    return f"{rate.events} in {rate.hours:.1f} pair-hours ({per:.1f} per 1,000; {low:.1f} to {high:.1f})"
