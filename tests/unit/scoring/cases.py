"""A small fabric to judge incidents on: two hosts a leaf, two leaves, two spines, and makers of incidents and faults.

```
 h1/r0 - leaf-1 - spine-1      access links a1..a4 (h1..h4, leaf-1: h1 h2, leaf-2: h3 h4)
 h2/r0 -        x              fabric links f11 f12 f21 f22 (f<leaf><spine>)
 h3/r0 - leaf-2 - spine-2      jobs: j1 on h1 and h3 (c1, c3), j2 on h2 and h4 (c2, c4)
 h4/r0 -
```
Times are seconds from the start of the recording; it lasts 100 s.
"""

from __future__ import annotations

from schemas.diagnosis import Action, Candidate, Incident, IncidentKind
from schemas.folding import DERIVED_CLOCK, derived_producer
from schemas.maps import Link
from schemas.truth import Fault, MonitorFault, Truth
from skeletonhunter.scoring import RecordingFacts
from skeletonhunter.scoring.facts import FinishedStep, Seat

START_US = 1_700_000_000_000_000
HOSTS = ("h1", "h2", "h3", "h4")


def at(second: float) -> int:
    """The instant of a second of the recording."""
    return START_US + round(second * 1e6)


def facts(pair_hours: float = 2.0, steps: tuple[FinishedStep, ...] = ()) -> RecordingFacts:
    """The fabric above."""
    access = [Link(id=f"a{n}", a=f"h{n}/r0/1", b=f"leaf-{(n + 1) // 2}/{n}") for n in range(1, 5)]
    inner = [Link(id=f"f{leaf}{s}", a=f"leaf-{leaf}/u{s}", b=f"spine-{s}/{leaf}") for leaf in (1, 2) for s in (1, 2)]
    return RecordingFacts(
        name="hand-made",
        start_us=at(0),
        end_us=at(100),
        links=(*access, *inner),
        rnics=frozenset(f"{host}/r0" for host in HOSTS),
        seats=tuple(Seat(f"c{n}/r0", "j1" if n % 2 else "j2", f"c{n}", f"h{n}", "r0") for n in range(1, 5)),
        pair_hours=pair_hours,
        steps=steps,
    )


def fault(component: str, issue: str | None = None, begin: float = 20, end: float = 60, **more: object) -> Fault:
    """A network fault; ``more``: fields of ``Fault``."""
    fields = {"fault": "f1", "component": component, "issue": issue, "start_us": at(begin), "end_us": at(end)} | more
    return Fault(**fields)  # type: ignore[arg-type]


def monitor_fault(kind: str, component: str | None, begin: float = 20, end: float = 60, **more: object) -> MonitorFault:
    """A monitor fault."""
    fields = {"fault": "m1", "component": component, "kind": kind, "start_us": at(begin), "end_us": at(end)} | more
    return MonitorFault(**fields)  # type: ignore[arg-type]


def truth(*faults: Fault | MonitorFault) -> Truth:
    """Truth of these faults."""
    return Truth(
        faults=tuple(item for item in faults if isinstance(item, Fault)),
        monitor_faults=tuple(item for item in faults if isinstance(item, MonitorFault)),
    )


def incident(
    component: str | None,
    issue: str | None = None,
    cls: str | None = None,
    *,
    kind: IncidentKind = "network_fault",
    name: str = "i1",
    onset: float = 20,
    detected: float = 22,
    localized: float | None = 23,
    sent: float | None = None,
    resolved: float | None = None,
    endpoints: tuple[str, ...] = (),
    confidence: float = 0.9,
    candidates: tuple[str, ...] = (),
    action: str = "none",
    target: str | None = None,
) -> Incident:
    """One state of an incident; ``sent``: its message's time, by default the later of detection and localization."""
    t_us = at(sent if sent is not None else max(detected, localized or 0))
    return Incident(
        v=1,
        t_us=t_us,
        producer=derived_producer("localization", "fab", 0),
        clock=DERIVED_CLOCK,
        fabric="fab",
        incident=name,
        state="open" if resolved is None else "resolved",
        kind=kind,
        issue=issue,  # type: ignore[arg-type]
        component=component,
        component_class=cls,  # type: ignore[arg-type]
        confidence=confidence,
        candidates=tuple(Candidate(component=item, score=1 / len(candidates)) for item in candidates),
        jobs=(),
        endpoints=endpoints,
        symptom=None,
        onset_us=at(onset),
        detected_us=at(detected),
        localized_us=None if localized is None else at(localized),
        resolved_us=None if resolved is None else at(resolved),
        evidence=(),
        trace=(),
        action=Action(kind=action, target=target, why=""),  # type: ignore[arg-type]
    )
