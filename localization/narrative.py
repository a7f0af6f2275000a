"""An incident's reasoning in plain words: what, how sure, since when, why, what else it could be, what to do.

Text only, no colours, lines of any length; every number comes from the incident. Instants are told relative to the
onset, which the caller puts into words itself (this package knows no calendar).
"""

from __future__ import annotations

from collections.abc import Callable

from schemas.diagnosis import Incident, IncidentKind, TracePass, Verdict

KINDS: dict[IncidentKind, str] = {
    "network_fault": "A part of the network is faulty",
    "congestion": "The network is congested, nothing is broken",
    "agent_missing": "An agent of the monitor is missing; this says nothing of the network",
    "agent_starved": "An agent of the monitor is starved; what it reports can't be relied on",
    "clock_bad": "A clock can't be trusted; its data is left out",
    "collector_gap": "A collector sends no data; what it would show is not known",
    "insufficient_evidence": "Something is wrong, but the evidence does not say what",
}
PASSES = {
    "monitor": "Is it the monitor itself?",
    "overlay": "Is it the virtual network (overlay)?",
    "underlay": "Is it the physical network (underlay)?",
    "boundary": "Is it the boundary: do virtual switch and RNIC agree on what is offloaded?",
    "host": "What do the devices say of themselves?",
}
VERDICTS: dict[Verdict, str] = {"clean": "no", "suspect": "yes", "inconclusive": "can't be told"}
SHOWN = 8


def narrate(incident: Incident, spell: Callable[[int], str]) -> str:
    """The whole story of an incident; ``spell`` puts an instant (us) into words."""
    parts = [*_headline(incident, spell), "", *_reasons(incident), "", *_outlook(incident)]
    return "\n".join(parts)


def _headline(incident: Incident, spell: Callable[[int], str]) -> list[str]:
    issue = f", issue {incident.issue}" if incident.issue else ""
    blamed = f"{incident.component}{issue}" if incident.component else "nobody can be named"
    lines = [
        f"{KINDS[incident.kind]}: {blamed}.",
        f"Confidence {incident.confidence:.0%}. State: {incident.state}. Incident {incident.incident}.",
        f"Since {spell(incident.onset_us)}; noticed {_later(incident, incident.detected_us)} later"
        + (f", localized {_later(incident, incident.localized_us)} later" if incident.localized_us else "")
        + (f", over {_later(incident, incident.resolved_us)} later" if incident.resolved_us else "")
        + ".",
    ]
    if incident.endpoints:
        symptom = f"{incident.symptom} at " if incident.symptom else ""
        lines.append(f"Concerned: {symptom}{_some(incident.endpoints)}; jobs: {_some(incident.jobs) or 'none'}.")
    return lines


def _later(incident: Incident, t_us: int | None) -> str:
    return f"{((t_us or incident.onset_us) - incident.onset_us) / 1e6:.1f} s"


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _reasons(incident: Incident) -> list[str]:
    lines = ["Why:"]
    for number, step in enumerate(incident.trace, start=1):
        lines += _pass(number, step)
    if incident.evidence:
        lines += ["", "Evidence:"]
        lines += [f"  - {e.topic}, {e.ref} ({_apart(incident, e.t_us)}): {e.text}" for e in incident.evidence]
    return lines


def _pass(number: int, step: TracePass) -> list[str]:
    question = PASSES[step.pass_]
    lines = [f"  {number}. {question} {VERDICTS[step.verdict].capitalize()}: {step.reason}."]
    lines.append(f"     Taken for granted: {step.assumption}.")
    lines += [f"     - {test.test}: {test.result}. {test.detail}." for test in step.tests]
    return lines


def _apart(incident: Incident, t_us: int) -> str:
    apart_s = (t_us - incident.onset_us) / 1e6
    return f"{abs(apart_s):.1f} s {'after' if apart_s >= 0 else 'before'} the onset"


def _outlook(incident: Incident) -> list[str]:
    others = [candidate for candidate in incident.candidates if candidate.component != incident.component]
    lines = []
    if others:
        listed = ", ".join(f"{candidate.component} ({candidate.score:.1%})" for candidate in others)
        lines.append(f"It could also be: {listed}.")
    action = incident.action
    what = "Nothing to do" if action.kind == "none" else f"To do: {action.kind.replace('_', ' ')} {action.target or ''}"
    lines.append(f"{what.rstrip()}: {action.why}.")
    return lines
