"""Hypothesis strategies for values of every topic, from the types; what types can't say is drawn by hand here.

``values_of(topic)`` gives values that the codec must take. Numbers reach the ends of their ranges, texts hold any
character, lists are short.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from schemas import diagnosis, maps, probing, telemetry
from schemas.envelope import Value
from schemas.topics import topic

LARGEST = 2**64 - 1
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
free_form = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), LARGEST)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@cache
def values_of(topic_name: str) -> st.SearchStrategy[Any]:
    """Values of a topic's newest version."""
    spec = topic(topic_name)
    return of_type(spec.value_type, v=st.just(spec.newest))


def of_type(value_type: type[Value], **fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values of a type, some fields given; fields that must fit each other are drawn together."""
    hints = get_type_hints(value_type, include_extras=True)
    drawn = {name: fixed[name] if name in fixed else _of_hint(hint) for name, hint in hints.items()}
    together = _MATCHING[value_type]() if value_type in _MATCHING else st.just({})
    return st.builds(lambda together, **alone: value_type(**{**alone, **together}), together, **drawn)


def _of_hint(hint: Any) -> st.SearchStrategy[Any]:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bounded(args[0], args[1])
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        return (
            st.lists(_of_hint(args[0]), max_size=3).map(tuple)
            if args[1:] == (...,)
            else st.tuples(*map(_of_hint, args))
        )
    if origin is dict:
        return st.dictionaries(texts, _of_hint(args[1]), max_size=3)
    if args:
        return st.one_of(*map(_of_hint, args))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return of_type(hint)
    return _PLAIN[hint]


def _bounded(kind: type, meta: msgspec.Meta) -> st.SearchStrategy[Any]:
    if kind is int:
        return st.integers(0 if meta.ge is None else int(meta.ge), LARGEST if meta.le is None else int(meta.le))
    if kind is float:
        low = meta.gt if meta.ge is None else meta.ge
        return st.floats(low, meta.le, exclude_min=meta.gt is not None, allow_nan=False, allow_infinity=False)
    return names


_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: st.integers(-(2**63), LARGEST),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
    object: free_form,
}

counts = st.integers(0, LARGEST)
instants = st.integers(0, 2**53 - 1)


@st.composite
def _columns(draw: st.DrawFn, **cells: st.SearchStrategy[Any]) -> dict[str, tuple[Any, ...]]:
    length = draw(st.integers(0, 4))
    return {name: tuple(draw(st.lists(cell, min_size=length, max_size=length))) for name, cell in cells.items()}


@st.composite
def _rnic_columns(draw: st.DrawFn) -> dict[str, Any]:
    further = draw(st.sets(names.filter(lambda name: name not in telemetry.RNIC_COLUMNS), max_size=2))
    cells = dict.fromkeys(("tx_bytes", "rx_bytes", *further), st.none() | counts)
    columns = draw(_columns(t_us=instants, **cells))
    return {
        "counters": {name: column for name, column in columns.items() if name in further},
        **{name: column for name, column in columns.items() if name not in further},
    }


@st.composite
def _queue_columns(draw: st.DrawFn) -> dict[str, Any]:
    cell = st.none() | counts
    optional = ["ecn_marked", "pfc_rx", "pfc_tx", "dropped", "crc_errors"]
    further = draw(st.sets(st.sampled_from(optional)))
    both = {"received_us": instants} if draw(st.booleans()) else {}
    columns = draw(_columns(t_us=instants, depth_bytes=cell, **both, **dict.fromkeys(sorted(further), cell)))
    return {**dict.fromkeys(["received_us", *optional]), **columns}


@st.composite
def _burst(draw: st.DrawFn) -> dict[str, int]:
    start_us, end_us = sorted((draw(instants), draw(instants)))
    return {"start_us": start_us, "end_us": end_us}


@st.composite
def _train(draw: st.DrawFn) -> dict[str, Any]:
    sent = draw(counts)
    lost = draw(st.integers(0, sent))
    rtt_us = tuple(draw(st.lists(st.floats(0, allow_nan=False, allow_infinity=False), max_size=min(sent, 4))))
    nothing = draw(st.sampled_from(["not_sent", "target_not_ready"]))
    outcome = nothing if sent == 0 else "lost" if lost == sent else "reply"
    return {"sent": sent, "lost": lost, "rtt_us": rtt_us, "outcome": outcome}


@st.composite
def _endpoint(draw: st.DrawFn) -> dict[str, str]:
    container, rnic = draw(names), draw(names)
    return {"container": container, "rnic": rnic, "endpoint": f"{container}/{rnic}"}


def _endpoints() -> st.SearchStrategy[dict[str, Any]]:
    unique = st.lists(
        of_type(maps.Endpoint), max_size=3, unique_by=(lambda e: e.endpoint, lambda e: e.rank or object())
    )
    return unique.map(
        lambda drawn: {"endpoints": tuple(msgspec.structs.replace(e, rank=e.rank or None) for e in drawn)}
    )


@st.composite
def _wiring(draw: st.DrawFn) -> dict[str, Any]:
    nodes = draw(st.lists(of_type(maps.Node), max_size=4, unique_by=lambda node: node.id))
    ports = (
        st.builds(lambda node, port: f"{node.id}/{port.replace('/', '-')}", st.sampled_from(nodes), names)
        if nodes
        else st.nothing()
    )
    links = (
        draw(st.lists(st.builds(maps.Link, id=names, a=ports, b=ports), max_size=3, unique_by=lambda link: link.id))
        if nodes
        else []
    )
    return {"nodes": tuple(nodes), "links": tuple(links)}


def _windows() -> st.SearchStrategy[dict[str, Any]]:
    number = st.integers(-(2**63), LARGEST)
    rtt = st.none() | st.floats(allow_nan=False, allow_infinity=False)
    return _columns(src=texts, dst=texts, sport=number, path=number, sent=counts, lost=counts, rtt_us=rtt)


@st.composite
def _table(draw: st.DrawFn) -> dict[str, Any]:
    rnic = draw(st.none() | texts)
    return {"rnic": rnic, "table": "vswitch" if rnic is None else draw(st.sampled_from(["vswitch", "rnic"]))}


_MATCHING: dict[type, Callable[[], st.SearchStrategy[dict[str, Any]]]] = {
    telemetry.RnicColumns: _rnic_columns,
    telemetry.QueueColumns: _queue_columns,
    telemetry.Burst: _burst,
    telemetry.FlowTables: _table,
    probing.ProbeResult: _train,
    maps.Endpoint: _endpoint,
    maps.EndpointMap: _endpoints,
    maps.FabricMap: _wiring,
    diagnosis.PairWindows: _windows,
}
"""Fields that must fit each other, drawn together."""


@st.composite
def spoiled(draw: st.DrawFn, wire: Any) -> Any:
    """A copy of some JSON in which one part, anywhere in it, has become any other JSON."""
    copy = msgspec.json.decode(msgspec.json.encode(wire))
    parts = [copy]
    for part in parts:
        inner = part.values() if isinstance(part, dict) else part
        parts += [item for item in inner if isinstance(item, dict | list)]
    part = draw(st.sampled_from([part for part in parts if part]))
    place = draw(st.sampled_from(list(part) if isinstance(part, dict) else range(len(part))))
    part[place] = draw(free_form)
    return copy
