"""What do counters of one port say by themselves, from one look to the next? Pure; hints, no verdicts.

Always differences, never totals: every healthy card has old errors. A counter that decreased says nothing this time.
Pauses, marks and congestion notifications under load are congestion control at work and no finding.

- ``crc_errors``: packets came in damaged. Equal counts on all lanes point at the module (power, optics), one lane at a
  connector or a fibre.
- ``loss_signs``: packets were lost on the way to or from this card: retransmissions and gaps in sequences.
- ``retransmits_without_pfc``: timeouts of a sender whose traffic sits on a priority that never paused: perhaps it is
  not lossless. A suspicion of configuration of low confidence, which accuses nobody.
- ``priority_asymmetry``: what is sent is marked, what comes in is not (or the other way round): the sender that
  marks nothing is the peer (or this host).
- ``bond_imbalance``: one member carries nearly all; queue pairs were placed badly, which is no error of the bond.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

Values = Mapping[str, int | None]

LANE = re.compile(r"rx_err_lane_([0-9])_phy")
PRIORITY = re.compile(r"(rx|tx)_prio([0-7])_(packets|pause)")
DAMAGED = ("rx_crc_errors_phy", "rx_symbol_err_phy", "symbol_error")
LOST_HERE = ("out_of_sequence", "out_of_seq_request", "rx_roce_discards")
LOST_BEYOND = (
    "packet_seq_err",
    "roce_adp_retrans",
    "local_ack_timeout_err",
    "req_transport_retries_exceeded",
    "rcvd_seq_err",
)
TIMEOUTS = "local_ack_timeout_err"

LEAST_DAMAGED = 10
LEAST_LOST = 10
LEAST_PACKETS = 10_000
MOSTLY = 0.9
LEAST_BYTES = 10**9


class Finding(Struct, frozen=True):
    """A hint: code of a device event, whether it is a warning, one sentence, numbers."""

    code: str
    warning: bool
    text: str
    values: dict[str, object]


def rises(before: Values, after: Values) -> dict[str, int]:
    """How far each counter rose; those that decreased or are unknown at either end are left out."""
    found = {}
    for name, value in after.items():
        known = before.get(name)
        if value is not None and known is not None and value >= known:
            found[name] = value - known
    return found


def judge(risen: Mapping[str, int], totals: Values) -> list[Finding]:
    """All findings of one port; ``totals``: the counters themselves, asked only whether they ever moved."""
    found = (_damage(risen), _loss(risen), _unprotected(risen, totals), _asymmetry(risen), _imbalance(risen))
    return [one for one in found if one is not None]


def _damage(risen: Mapping[str, int]) -> Finding | None:
    damaged = {name: risen[name] for name in DAMAGED if risen.get(name, 0) >= LEAST_DAMAGED}
    if not damaged:
        return None
    lanes = {int(match[1]): count for name, count in risen.items() if (match := LANE.fullmatch(name))}
    where = _lanes(lanes)
    text = f"{max(damaged.values())} damaged packets or symbols came in" + (f"; {where}" if where else "")
    return Finding(
        "crc_errors", True, text, {"risen": damaged, "lanes": {str(k): v for k, v in lanes.items()}, "where": where}
    )


def _lanes(lanes: Mapping[int, int]) -> str:
    hurt = {lane: count for lane, count in lanes.items() if count >= LEAST_DAMAGED}
    if len(hurt) == 1 and len(lanes) > 1:
        return f"lane {next(iter(hurt))} only: a connector or a fibre"
    if len(hurt) == len(lanes) > 1 and min(hurt.values()) >= MOSTLY * max(hurt.values()):
        return "all lanes alike: the module at this host"
    return ""


def _loss(risen: Mapping[str, int]) -> Finding | None:
    coming = {name: risen[name] for name in LOST_HERE if risen.get(name, 0)}
    going = {name: risen[name] for name in LOST_BEYOND if risen.get(name, 0)}
    if sum(coming.values()) + sum(going.values()) < LEAST_LOST:
        return None
    ways = [way for way, counts in (("towards this card", coming), ("from this card", going)) if counts]
    return Finding("loss_signs", False, f"packets were lost {' and '.join(ways)}", {"risen": {**coming, **going}})


def _packets(risen: Mapping[str, int], way: str) -> dict[int, int]:
    matches = [(PRIORITY.fullmatch(name), count) for name, count in risen.items()]
    return {int(m[2]): count for m, count in matches if m and m[1] == way and m[3] == "packets"}


def _main_priority(packets: Mapping[int, int]) -> int | None:
    """The priority of nearly all packets, if there is one."""
    total = sum(packets.values())
    if total < LEAST_PACKETS:
        return None
    most = max(packets, key=lambda one: (packets[one], -one))
    return most if packets[most] >= MOSTLY * total else None


def _unprotected(risen: Mapping[str, int], totals: Values) -> Finding | None:
    priority = _main_priority(_packets(risen, "tx"))
    pauses = [totals.get(f"{way}_prio{priority}_pause") for way in ("rx", "tx")]
    if priority is None or not risen.get(TIMEOUTS, 0) or any(pauses):
        return None
    text = f"acknowledgements timed out, and priority {priority}, which carries the traffic, has never paused"
    return Finding(
        "retransmits_without_pfc", False, text, {"priority": priority, TIMEOUTS: risen[TIMEOUTS], "confidence": 0.2}
    )


def _asymmetry(risen: Mapping[str, int]) -> Finding | None:
    sent, received = _main_priority(_packets(risen, "tx")), _main_priority(_packets(risen, "rx"))
    if sent is None or received is None or sent == received:
        return None
    unmarked = "the peer" if received == 0 else "this host" if sent == 0 else "one of the two"
    text = f"sends on priority {sent}, receives on priority {received}: {unmarked} does not mark its traffic as agreed"
    return Finding("priority_asymmetry", False, text, {"sent": sent, "received": received, "unmarked": unmarked})


def _imbalance(risen: Mapping[str, int]) -> Finding | None:
    """Members of a bond stand as ``<member>/<statistic>``."""
    for name in ("tx_bytes_phy", "rx_bytes_phy"):
        shares = {key.rpartition("/")[0]: count for key, count in risen.items() if key.endswith(f"/{name}")}
        total = sum(shares.values())
        if len(shares) < 2 or total < LEAST_BYTES:
            continue
        most = max(shares, key=lambda one: (shares[one], one))
        if shares[most] >= MOSTLY * total:
            text = f"{most} carries {100 * shares[most] / total:.0f} % of what the bond moves"
            return Finding("bond_imbalance", False, text, {"counter": name, "members": shares})
    return None
