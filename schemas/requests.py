"""Evidence that would decide a case and is not there: localization asks for it, agents on hosts bring it."""

from __future__ import annotations

from typing import Literal

from schemas.envelope import InstantUs, Message, Name

WantedKind = Literal["flow-tables", "traceroute"]


class EvidenceRequest(Message, frozen=True, kw_only=True):
    """Topic ``evidence-requests``, key fabric: what one host's agents should look at now, and for which incident.

    ``flow-tables``: dump the tables of ``host`` whole. ``traceroute``: find the paths from ``endpoints`` (of that host)
    to ``towards``. Nobody has to answer: an agent keeps to its own limits, and one that reads it after ``expires_us``
    does nothing. The answer is a message of the usual topic. ``request`` follows from the content: a replay asks alike.
    """

    request: Name
    incident: Name
    kind: WantedKind
    host: Name
    endpoints: tuple[Name, ...]
    towards: tuple[Name, ...] = ()
    reason: str
    expires_us: InstantUs
