"""An incident as a page: one HTML file with everything in it, readable on a phone and in print, no network needed.

Every text that comes from outside is escaped by the template engine; the page forbids scripts and remote content to the
browser as well. Equal input gives equal bytes. Size: about 150 kB per incident, nearly all of it pictures.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct

from localization.narrative import KINDS, PASSES, VERDICTS
from schemas.diagnosis import Incident, TracePass
from schemas.instants import seconds
from skeletonhunter.replaying.summary import instant
from skeletonhunter.reporting.backdrop import Backdrop

SHOWN_ENDPOINTS = 24
FOOTER = "Made by skeletonhunter report. Times are UTC; nothing on this page is loaded from elsewhere."


class Picture(Struct, frozen=True):
    """A picture with what it shows, for those who can't see it, and how to read it."""

    data: str
    alt: str
    caption: str


class Story(Struct, frozen=True):
    """What the template writes about one incident, all in words."""

    headline: str
    kind: str
    what: str
    where: str
    sure: str
    since: str
    state: str
    todo: str
    todo_why: str
    facts: tuple[tuple[str, str], ...]
    pictures: tuple[Picture, ...]
    missing: str
    steps: tuple[dict[str, Any], ...]
    candidates: tuple[tuple[str, str], ...]
    evidence: tuple[dict[str, str], ...]


def render_incident(history: Sequence[Incident], backdrop: Backdrop | None) -> str:
    """The page of one incident, of which ``history`` holds all known messages, oldest first."""
    story = tell(history, backdrop)
    return _render(title=f"{story.headline} ({history[-1].incident})", overview=None, stories=[story])


def render_recording(name: str, lead: str, histories: Sequence[Sequence[Incident]], backdrop: Backdrop) -> str:
    """The page of a whole recording: a list of its incidents, then each of them."""
    stories = [tell(history, backdrop) for history in histories]
    return _render(title=f"Incidents of {name}", overview={"lead": lead}, stories=stories)


def _render(**content: Any) -> str:
    environment = Environment(
        loader=PackageLoader("skeletonhunter.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(footer=FOOTER, **content)


def tell(history: Sequence[Incident], backdrop: Backdrop | None) -> Story:
    """Puts an incident into words and pictures; without a backdrop only what the incident itself says."""
    incident = history[-1]
    action = incident.action
    what = (incident.issue or incident.kind).replace("_", " ")
    where = incident.component or "no component can be named"
    return Story(
        headline=f"{what.capitalize()} at {where}" if incident.component else f"{what.capitalize()}: {where}",
        kind=f"{KINDS[incident.kind]}.",
        what=what,
        where=where,
        sure=f"{incident.confidence:.0%}",
        since=instant(incident.onset_us),
        state=incident.state,
        todo="Nothing to do."
        if action.kind == "none"
        else f"{action.kind.replace('_', ' ')} {action.target or ''}".strip(),
        todo_why=action.why,
        facts=tuple(_facts(incident)),
        pictures=_pictures(history, backdrop),
        missing="" if backdrop else "No measurements were at hand for pictures: name a recording with --recording.",
        steps=tuple(_step(step) for step in incident.trace),
        candidates=tuple((each.component, f"{each.score:.1%}") for each in incident.candidates),
        evidence=tuple(
            {"when": _apart(incident, e.t_us), "topic": e.topic, "ref": e.ref, "text": e.text}
            for e in incident.evidence
        ),
    )


def _facts(incident: Incident) -> list[tuple[str, str]]:
    shown = ", ".join(incident.endpoints[:SHOWN_ENDPOINTS])
    more = len(incident.endpoints) - SHOWN_ENDPOINTS
    return [
        ("How sure", f"{incident.confidence:.0%}"),
        ("Since", instant(incident.onset_us)),
        ("Detected", _after(incident.detected_us, incident)),
        ("Localized", _after(incident.localized_us, incident)),
        ("Over", _after(incident.resolved_us, incident)),
        ("Symptom", (incident.symptom or "none").replace("_", " ")),
        ("Class", (incident.component_class or "unknown").replace("_", " ")),
        ("Jobs", ", ".join(incident.jobs) or "none"),
        ("Endpoints", f"{shown or 'none'}{f' and {more} more' if more > 0 else ''}"),
        ("Fabric", incident.fabric),
        ("Incident", incident.incident),
        ("State", incident.state),
    ]


def _after(t_us: int | None, incident: Incident) -> str:
    return "not yet" if t_us is None else f"{seconds(t_us - incident.onset_us):.1f} s after the onset"


def _apart(incident: Incident, t_us: int) -> str:
    return f"{seconds(t_us - incident.onset_us):+.1f} s"


def _step(step: TracePass) -> dict[str, Any]:
    return {
        "question": PASSES[step.pass_],
        "answer": VERDICTS[step.verdict],
        "reason": step.reason,
        "assumption": step.assumption,
        "open": step.verdict == "suspect",
        "tests": [{"test": test.test, "result": test.result, "detail": test.detail} for test in step.tests],
    }


def _pictures(history: Sequence[Incident], backdrop: Backdrop | None) -> tuple[Picture, ...]:
    from skeletonhunter.reporting.fabric_picture import draw_fabric
    from skeletonhunter.reporting.pictures import draw_series, draw_timeline
    from skeletonhunter.reporting.skeleton_picture import draw_skeletons

    incident = history[-1]
    found = [
        _picture(
            draw_timeline(history),
            f"Timeline: detected {_after(incident.detected_us, incident)}, "
            f"localized {_after(incident.localized_us, incident)}, over {_after(incident.resolved_us, incident)}.",
            "From the onset to now; the marks below are the messages that were sent about it.",
        )
    ]
    if backdrop is None:
        return tuple(found)
    if backdrop.series.pairs:
        alt = f"RTT, loss and queue depth before and during the fault; symptom {incident.symptom or 'none'}."
        caption = "In colour the pairs that changed most, in grey the others as the baseline; shaded: the fault."
        found.append(_picture(draw_series(incident, backdrop), alt, caption))
    fabric = draw_fabric(incident, backdrop)
    if fabric is not None:
        alt = f"Paths of the ill pairs through the fabric, with {incident.component or 'no component'} marked."
        found.append(_picture(fabric, alt, "Switches above, RNICs below; only what the ill pairs' probes can meet."))
    for job, drawing in draw_skeletons(incident, backdrop):
        alt = f"Traffic skeleton of job {job}: which RNICs exchange training traffic."
        found.append(_picture(drawing, alt, f"The traffic skeleton of {job}, by which its probes were planned."))
    return tuple(found)


def _picture(svg: str, alt: str, caption: str) -> Picture:
    return Picture(b64encode(svg.encode()).decode(), alt, caption)
