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
- ``bond_imbalance``: one member carries three times what the others do, or more; queue pairs were placed badly, which
  is no error of the bond.

Counters of a bond's members stand as ``<member>/<name>``: what is damaged is told of the wire that it came by.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

Values = Mapping[str, int | None]

LANE = re.compile(r"rx_err_lane_([0-9])_phy")
PACKETS = re.compile(r"(?:.*/)?(rx|tx)_(?:prio([0-7])_packets|packets_pri([0-7]))")
DAMAGED = (
    "rx_crc_errors_phy",
    "rx_symbol_err_phy",
    "symbol_error",
    "rx_crc_errors",
    "rx_crc_errors.nic",
    "port.rx_crc_errors",
    "rx_fcs_err_frames",
    "mac_rx_fcs_err_pkt_num",
    "frames_rx_bad_fcs",
)
"""mlx5, IBTA, ice, i40e, bnxt, hns3, ionic."""

LOST_HERE = (
    "out_of_sequence",
    "out_of_seq_request",
    "rx_roce_discards",
    "oos_drop_count",
    "res_oos_drop_count",
    "responder_oos",
)
LOST_BEYOND = (
    "packet_seq_err",
    "roce_adp_retrans",
    "local_ack_timeout_err",
    "req_transport_retries_exceeded",
    "rcvd_seq_err",
    "to_retransmits",
    "seq_err_naks_rcvd",
    "max_retry_exceeded",
    "retrans_pkts",
    "retrans_timeout_events",
    "unresponsive_remote_events",
    "requester_oos_nak",
    "requester_timeout",
    "requester_retries_exceeded",
    "req_rx_pkt_seq_err",
    "tx_rdma_ack_timeout",
    "req_tx_retry_excd_err",
    "retry_exceeded_err",
)
"""mlx5, bnxt_re, EFA, MANA, ionic, rxe."""

BROKEN = (
    "req_transport_retries_exceeded",
    "max_retry_exceeded",
    "unresponsive_remote_events",
    "requester_retries_exceeded",
    "req_tx_retry_excd_err",
    "retry_exceeded_err",
)
"""Each of these ends a connection, so that one is enough."""

TIMEOUTS = "local_ack_timeout_err"

LEAST_DAMAGED = 10
LEAST_LOST = 10
LEAST_PACKETS = 10_000
MOSTLY = 0.9
UNEVEN = 3
"""A member that carries so many times what the others do in the mean is told."""

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


def _by_wire(values: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Counters of the card ("") and of each member of a bond, which stand as ``<member>/<name>``."""
    wires: dict[str, dict[str, int]] = {}
    for key, value in values.items():
        wire, _, name = key.rpartition("/")
        wires.setdefault(wire, {})[name] = value
    return wires


def _damage(risen: Mapping[str, int]) -> Finding | None:
    """What came in damaged, wire by wire; lanes are those of the wire that is worst."""
    hurt = {}
    for wire, counts in _by_wire(risen).items():
        damaged = {name: counts[name] for name in DAMAGED if counts.get(name, 0) >= LEAST_DAMAGED}
        if damaged:
            hurt[wire] = damaged
    if not hurt:
        return None
    worst = max(hurt, key=lambda wire: (max(hurt[wire].values()), wire))
    lanes = {int(match[1]): count for name, count in _by_wire(risen)[worst].items() if (match := LANE.fullmatch(name))}
    where = _lanes(lanes)
    told = [f"{max(hurt[wire].values())}" + (f" at {wire}" if wire else "") for wire in sorted(hurt)]
    text = f"{', '.join(told)} damaged packets or symbols came in" + (f"; {where}" if where else "")
    values: dict[str, object] = {
        "risen": {
            f"{wire}/{name}".lstrip("/"): count for wire, counts in hurt.items() for name, count in counts.items()
        },
        "lanes": {str(lane): count for lane, count in lanes.items()},
        "where": where,
    }
    if worst:
        values["member"] = worst
    return Finding("crc_errors", True, text, values)


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
    if sum(coming.values()) + sum(going.values()) < LEAST_LOST and not any(name in going for name in BROKEN):
        return None
    ways = [way for way, counts in (("towards this card", coming), ("from this card", going)) if counts]
    return Finding("loss_signs", False, f"packets were lost {' and '.join(ways)}", {"risen": {**coming, **going}})


def _packets(risen: Mapping[str, int], way: str) -> dict[int, int]:
    """Packets by priority, those of all members of a bond together."""
    found: dict[int, int] = {}
    for name, count in risen.items():
        match = PACKETS.fullmatch(name)
        if match is not None and match[1] == way:
            priority = int(match[2] or match[3])
            found[priority] = found.get(priority, 0) + count
    return found


def _main_priority(packets: Mapping[int, int]) -> int | None:
    """The priority of nearly all packets, if there is one."""
    total = sum(packets.values())
    if total < LEAST_PACKETS:
        return None
    most = max(packets, key=lambda one: (packets[one], -one))
    return most if packets[most] >= MOSTLY * total else None


def _unprotected(risen: Mapping[str, int], totals: Values) -> Finding | None:
    priority = _main_priority(_packets(risen, "tx"))
    timeouts = risen.get(TIMEOUTS, 0)
    if priority is None or not timeouts:
        return None
    names = {f"{way}_prio{priority}_pause" for way in ("rx", "tx")}
    pauses = [value for key, value in totals.items() if key.rpartition("/")[2] in names and value is not None]
    if any(pauses):
        return None
    what = "has never paused" if pauses else "tells nothing of pauses"
    text = f"acknowledgements timed out, and priority {priority}, which carries the traffic, {what}"
    return Finding(
        "retransmits_without_pfc", False, text, {"priority": priority, TIMEOUTS: timeouts, "confidence": 0.2}
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
        if shares[most] * (len(shares) - 1) >= UNEVEN * (total - shares[most]):
            text = f"{most} carries {100 * shares[most] / total:.0f} % of what the bond moves"
            return Finding("bond_imbalance", False, text, {"counter": name, "members": shares})
    return None
