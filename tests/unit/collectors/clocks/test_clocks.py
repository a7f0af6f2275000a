"""How far the clock may be off, by the kernel, chrony and PTP; how the bound grows; and whether it was stepped."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.clocks.chrony import parse_tracking
from collectors.clocks.estimates import DRIFT_PPM, NOTHING_US, STALE_S, Estimate, clock_of
from collectors.clocks.kernel import STA_NANO, STA_UNSYNC, KernelClock, judge_kernel_clock, read_kernel_clock
from collectors.clocks.ptp import judge_ptp, parse_pmc, parse_ptp_line, parse_ptp_log
from collectors.clocks.steps import StepWatch
from collectors.clocks.watch import ClockSources, ClockWatch
from collectors.observing import Collector, Now
from schemas.envelope import Clock
from schemas.telemetry import DeviceEvent
from tests.small_fabric import envelope

DATA = Path(__file__).parents[3] / "data" / "collectors" / "clocks"
SLOW = (DATA / "tracking_slow.csv").read_text()
"""What chronyc 4.3 printed of a clock that it called ``0.499998420 seconds slow of NTP time``."""
SYNCED = KernelClock(0, STA_NANO, 2_000, 1_500, 10)
UNSYNCED = KernelClock(5, STA_UNSYNC, 0, 16_000_000, 16_000_000)


def test_chrony_s_words() -> None:
    found = parse_tracking(SLOW, 7)
    assert (found.teller, found.synced, found.offset_us) == ("chrony", True, pytest.approx(-499_998.42))
    assert found.error_us == pytest.approx(6.579 / 2 + 1.603) and found.skew_ppm == 0.268
    assert not parse_tracking(SLOW.replace("Normal", "Not synchronised"), 7).synced
    assert not parse_tracking(SLOW.replace("7F000001", "7F7F0101"), 7).synced, "its own clock is no reference"
    assert parse_tracking(SLOW.replace("192.0.2.1", "PHC0"), 7).teller == "ptp"


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "expected 14 fields"), ("506 Cannot talk to daemon", "expected 14 fields"), (SLOW.replace("0.268", "x"),
    "expected a number"),
     (SLOW.replace("0.499998420", "nan"), "out of range"), (SLOW.replace("0.499998420", "1e99"), "out of range")],
)  # fmt: skip
def test_what_is_no_tracking(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_tracking(text, 0)


PRINTED = """Reference ID    : 85F3EEF3 (ntp-a2.nict.go.jp)
Stratum         : 2
Ref time (UTC)  : Tue Jan 04 08:30:38 2022
System time     : 0.000671486 seconds slow of NTP time
Last offset     : -0.000040695 seconds
RMS offset      : 0.002843684 seconds
Frequency       : 0.992 ppm slow
Residual freq   : -0.000 ppm
Skew            : 0.028 ppm
Root delay      : 0.071241446 seconds
Root dispersion : 0.002396419 seconds
Update interval : 2063.3 seconds
Leap status     : Normal
"""


def test_chrony_s_words_without_commas_say_the_same() -> None:
    slow = parse_tracking(PRINTED, 7)
    commas = "85F3EEF3,ntp-a2.nict.go.jp,2,1641285038.0,0.000671486,-0.000040695,0.002843684,-0.992,-0.000,0.028,"
    assert slow == parse_tracking(f"{commas}0.071241446,0.002396419,2063.3,Normal\n", 7)
    assert slow.offset_us == pytest.approx(-671.486) and slow.error_us == pytest.approx(38_017.142)
    assert parse_tracking(PRINTED.replace("slow of", "fast of"), 7).offset_us == pytest.approx(671.486)
    assert not parse_tracking(PRINTED.replace("Normal", "Not synchronised"), 7).synced
    phc = parse_tracking(PRINTED.replace("85F3EEF3 (ntp-a2.nict.go.jp)", "50484330 (PHC0)"), 7)
    assert phc.teller == "ptp" and phc.synced
    for other in (PRINTED.partition("Root dispersion")[0], PRINTED.replace("slow of", "off")):
        with pytest.raises(ValueError, match="expected 14 fields"):
            parse_tracking(other, 7)


def test_the_kernel_s_word() -> None:
    found = judge_kernel_clock(SYNCED, 7)
    assert (found.synced, found.offset_us, found.error_us) == (True, -2.0, 1_500.0)
    assert judge_kernel_clock(KernelClock(0, 0, 2_000, 1, 1), 7).offset_us == -2_000.0, "without STA_NANO it is us"
    assert not judge_kernel_clock(UNSYNCED, 7).synced


def test_the_kernel_is_asked_for_real() -> None:
    clock = read_kernel_clock()
    assert 0 <= clock.state <= 5 and 0 <= clock.max_error_us <= 16_000_000
    assert (clock.state == 5) >= bool(clock.status & STA_UNSYNC), "an unsynchronised clock is an error"


def test_pmc_s_words() -> None:
    text = (DATA / "pmc.txt").read_text()
    status = parse_pmc(text)
    assert status is not None and (status.locked, status.offset_ns, status.delay_ns) == (True, -42.0, 567.0)
    estimate = judge_ptp(status, None, 7)
    assert (estimate.offset_us, estimate.error_us, estimate.synced) == (-0.042, 0.2835, True)
    listening, orphan = parse_pmc(text.replace("SLAVE", "LISTENING")), parse_pmc(text.replace("true", "false"))
    assert listening is not None and not listening.locked and orphan is not None and not orphan.locked
    assert parse_pmc("sending: GET TIME_STATUS_NP\n") is None


def test_lines_of_ptp4l_and_phc2sys() -> None:
    found = parse_ptp_log((DATA / "ptp.log").read_text())
    card, host = found["ptp4l"], found["phc2sys"]
    assert (card.offset_ns, card.delay_ns, card.at_us, card.locked) == (-12.0, 567.0, 1_001_100_000, True)
    assert (host.offset_ns, host.delay_ns, host.at_us) == (-25.0, 512.0, 1_000_200_000)
    both = judge_ptp(card, host, 2_000_000_000)
    assert both.offset_us == pytest.approx(-0.037) and both.error_us == pytest.approx((283.5 + 256) / 1e3)
    assert both.at_us == 1_000_200_000, "as old as the older word"
    summary = parse_ptp_line((DATA / "ptp.log").read_text().splitlines()[0])
    assert summary is not None and (summary[1].offset_ns, summary[1].most_ns, summary[1].delay_ns) == (0.0, 34.0, 567.0)
    unlocked = parse_ptp_line("ptp4l[5.0]: master offset  -900000 s0 freq +0 path delay 1")
    assert unlocked is not None and not unlocked[1].locked
    assert parse_ptp_line("ptp4l[5.0]: port 1: LISTENING to UNCALIBRATED on RS_SLAVE") is None


@pytest.mark.parametrize(
    ("line", "locked"),
    [
        ("phc2sys[2006.891]: CLOCK_REALTIME phc offset 1612345025660222525 s0 freq   -2001 delay    480", False),
        ("phc2sys[1206.247]: CLOCK_REALTIME phc offset 1762884964737708471 s1 freq   -2226 delay    612", False),
        ("phc2sys[628.628]: phc offset     66341 s0 freq      +0 delay   2729", False),
        ("phc2sys[646.630]: phc offset       -17 s2 freq  -37690 delay   2726", True),
        (
            "phc2sys[4268818.286]: [ptp4l.0.config] CLOCK_REALTIME phc offset       -62 s2 freq  -78368 delay   1100",
            True,
        ),
        ("phc2sys[4268818.287]: [ptp4l.0.config] ens5f1 phc offset       -92 s2 freq    -890 delay   2464", None),
        ("phc2sys[373.480]: eth4 phc offset       -14 s2 freq   -8311", None),
        ("phc2sys[1378.914]: /dev/ptp3 sys offset       -30 s2 freq -292909 delay      0", None),
        ("phc2sys[1105.795]: sys offset      -316 s2 freq  +1 delay 0", None),
        ("phc2sys[2009.891]: CLOCK_REALTIME phc offset       -21", None),
    ],
)
def test_only_whole_lines_about_the_host_s_own_clock_count(line: str, locked: bool | None) -> None:
    found = parse_ptp_line(line)
    assert (None if found is None else found[1].locked) == locked
    assert found is None or f"{found[1].offset_ns:.0f}"[:10] in line


@pytest.mark.parametrize("logged", [r"\1: [\2]", r"\1[77]: [\2]", r"\1[77]: [\2] [ptp4l.0.config]"])
def test_syslog_and_the_journal_say_the_same_as_a_terminal(logged: str) -> None:
    printed = (DATA / "ptp.log").read_text()
    found = parse_ptp_log(re.sub(r"(ptp4l|phc2sys)\[([\d.]+)\]:", logged, printed))
    assert found == parse_ptp_log(printed) and len(found) == 2


def estimate(teller: str, error_us: float = 1.0, synced: bool = True, **further: float) -> Estimate:
    fields = {"teller": teller, "at_us": 0, "synced": synced, "offset_us": 0.5, "error_us": error_us}
    return Estimate(**fields | further)  # type: ignore[arg-type]


def test_the_best_source_counts() -> None:
    known = [estimate("kernel", 9.0), estimate("chrony", 5.0), estimate("ptp", 1.0)]
    assert clock_of(known, 0) == Clock(source="ptp", offset_us=0.5, error_us=1.0)
    assert clock_of(known[:2], 0) == Clock(source="ntp", offset_us=0.5, error_us=5.0)
    unlocked = [estimate("ptp", synced=False), estimate("kernel", 9.0)]
    assert clock_of(unlocked, 0).source == "ntp"
    assert clock_of([], 0) == Clock(source="none", offset_us=0.0, error_us=NOTHING_US)
    late = round((STALE_S + 1) * 1e6)
    assert clock_of(known, late).source == "none", "nobody has said anything for long"


@given(st.floats(0, 1e6), st.floats(0, 100), st.integers(0, 300_000_000), st.integers(0, 300_000_000))
def test_the_bound_grows_with_the_time_since_it_was_told(error: float, skew: float, one: int, other: int) -> None:
    known = estimate("chrony", error, skew_ppm=skew)
    early, late = sorted((one, other))
    assert error <= known.bound_us(early) <= known.bound_us(late)
    assert known.bound_us(late) - error == pytest.approx(late * (DRIFT_PPM + skew) * 1e-6, abs=1e-6)


def test_a_step_is_told_when_a_second_reading_has_it_too() -> None:
    watch = StepWatch()
    readings = [(100, 100), (200, 200), (1_000_300, 300), (1_000_400, 400), (1_000_500, 500)]
    found = [watch.step(t_us * 1_000, mono * 1_000) for t_us, mono in readings]
    assert [step.by_us if step else None for step in found] == [None, None, None, 1_000_000_000, None]
    assert found[3] is not None and found[3].t_us == 1_000_300_000


def test_a_torn_pair_of_readings_is_no_step() -> None:
    watch = StepWatch()
    assert watch.step(0, 0) is None
    assert watch.step(11_000_000, 1_000_000) is None and watch.suspected_us == 10_000_000
    assert watch.step(12_000_000, 12_000_000) is None and watch.suspected_us == 0


@given(st.lists(st.integers(-3_000_000, 3_000_000).filter(lambda by: abs(by) > 20_000), max_size=5))
def test_every_step_is_found_once_with_its_size(steps: list[int]) -> None:
    watch, offset, mono, found = StepWatch(), 0, 0, []
    for by in [0, *steps]:
        offset += by
        for _ in range(3):
            mono += 1_000_000
            step = watch.step(1_000_000_000_000 + mono + offset, mono)
            if step is not None:
                found.append(step.by_us)
    assert found == steps


def now(seconds: float, stepped_s: float = 0.0) -> Now:
    return Now(t_us=round((1_753_000_000 + seconds + stepped_s) * 1e6), mono_us=round((5_000 + seconds) * 1e6))


def kernel(clock: KernelClock) -> Callable[[], KernelClock]:
    return lambda: clock


def test_the_part_follows_the_daemons_and_tells_a_step(tmp_path: Path) -> None:
    answer = tmp_path / "tracking"
    answer.write_text(SLOW)
    part = ClockWatch("h1", ClockSources(chronyc=("cat", str(answer))), kernel(SYNCED))
    assert isinstance(part, Collector)
    assert list(part.collect(now(0))) == []
    first = part.clock()
    assert (first.source, first.offset_us) == ("ntp", pytest.approx(-499_998.42))
    assert part.clock(now(10).mono_us).error_us > first.error_us
    answer.unlink()
    assert list(part.collect(now(20))) == [] and "chrony" in part.troubles
    assert part.clock().source == "ntp", "its last word still counts"
    assert list(part.collect(now(21, stepped_s=-3.0))) == []
    assert part.clock().error_us > 3_000_000, "a step that is suspected widens the bound at once"
    (fact,) = part.collect(now(22, stepped_s=-3.0))
    value = msgspec.convert(msgspec.to_builtins(envelope("agent:h1/clock", 1.0, 1)) | fact.fields, DeviceEvent)
    assert (value.device, value.event, value.values) == ("clock:h1", "clock_step", {"step_us": -3_000_000})
    after = part.clock()
    assert (after.source, after.offset_us, after.error_us) == ("ntp", -2.0, 1_500.0), (
        "chrony's old offset counts no more"
    )


def test_the_part_reads_pmc_and_the_log(tmp_path: Path) -> None:
    log = tmp_path / "ptp.log"
    log.write_text((DATA / "ptp.log").read_text().replace("[100", "[500"))
    part = ClockWatch("h1", ClockSources(pmc=("cat", str(DATA / "pmc.txt")), ptp_log=str(log)), kernel(UNSYNCED))
    list(part.collect(now(5)))
    clock = part.clock()
    assert clock.source == "ptp" and clock.offset_us == pytest.approx(-0.067) and clock.error_us < 100.0
    log_only = ClockWatch("h1", ClockSources(ptp_log=str(log)), kernel(UNSYNCED))
    list(log_only.collect(now(5)))
    assert log_only.clock().offset_us == pytest.approx(-0.037)
    silent = ClockWatch("h1", ClockSources(pmc=("echo", "nobody")), kernel(UNSYNCED))
    list(silent.collect(now(5)))
    assert "nobody tells an offset" in silent.troubles["ptp"] and silent.clock().source == "none"


def test_a_clock_that_nobody_corrects_says_so_unless_somebody_vouches_for_it() -> None:
    alone = ClockWatch("h1", kernel=kernel(UNSYNCED))
    list(alone.collect(now(0)))
    assert alone.clock().source == "none" and alone.clock().error_us >= NOTHING_US
    vouched = ClockWatch("h1", ClockSources(vouched_us=50.0), kernel(UNSYNCED))
    list(vouched.collect(now(0)))
    assert vouched.clock() == Clock(source="none", offset_us=0.0, error_us=50.0)
