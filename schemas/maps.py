"""What exists: the endpoints of a job and the nodes and links of a fabric.

An endpoint is the bound pair (container, RNIC), id ``<container>/<rnic>``, unique in its fabric; overlay IPs are not.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from schemas.envelope import Count, JobMessage, Message, Name, Value, shallow

EndpointState = Literal["starting", "ready", "gone"]
NodeKind = Literal["leaf", "spine", "core", "rnic"]


class Endpoint(Value, frozen=True, kw_only=True):
    """One (container, RNIC); ``rail`` is the RNIC's rail in the fabric, ``switch_port`` its ``<switch>/<port>``."""

    endpoint: Name
    container: Name
    host: Name
    rnic: Name
    rail: Count
    rank: Count | None = None
    vif: str | None = None
    ip: str | None = None
    gid: str | None = None
    switch_port: str | None = None
    state: EndpointState
    withheld: str | None = None

    def __post_init__(self) -> None:
        if self.endpoint != f"{self.container}/{self.rnic}":
            raise ValueError(f"endpoint {self.endpoint!r} must be <container>/<rnic> = '{self.container}/{self.rnic}'")


class Parallelism(Value, frozen=True, kw_only=True):
    """Degrees of parallelism of a job; null = unknown."""

    tp: Annotated[int, Meta(ge=1)] | None = None
    pp: Annotated[int, Meta(ge=1)] | None = None
    dp: Annotated[int, Meta(ge=1)] | None = None
    ep: Annotated[int, Meta(ge=1)] | None = None


class EndpointMap(JobMessage, frozen=True, kw_only=True):
    """Topic ``endpoint-map``, key job: where the job's endpoints are; a higher ``version`` replaces a lower one."""

    version: Count
    state: Literal["starting", "running", "ended"]
    reason: str
    endpoints: tuple[Endpoint, ...]
    parallelism: Parallelism | None = None
    groups: object = None
    """Hints of a scheduler or collective library in whatever shape they have: evidence to check, never truth."""

    def __post_init__(self) -> None:
        shallow(groups=self.groups)
        names = {endpoint.endpoint for endpoint in self.endpoints}
        if len(names) != len(self.endpoints):
            raise ValueError("an endpoint is listed twice in endpoints")
        ranks = [e.rank for e in self.endpoints if e.rank is not None and e.state != "gone"]
        if len(set(ranks)) != len(ranks):
            raise ValueError("a rank is listed twice among the endpoints that are not gone")


class Node(Value, frozen=True, kw_only=True):
    """A switch, or an RNIC whose id is ``<host>/<rnic>``."""

    id: Name
    kind: NodeKind
    addresses: dict[str, str] | None = None


class Link(Value, frozen=True, kw_only=True):
    """A cable between two ports ``<node>/<port>`` (split at the last slash)."""

    id: Name
    a: Name
    b: Name


class Ecmp(Value, frozen=True, kw_only=True):
    """How a flow's path is known: ``traced`` (results bring it) or ``hash`` (computed from the flow's 5-tuple)."""

    method: Literal["traced", "hash"]
    function: Literal["crc32"] | None = None
    input: str | None = None
    salt: str | int | dict[str, str | int] | None = None
    symmetric: bool | None = None


class FabricMap(Message, frozen=True, kw_only=True):
    """Topic ``fabric-map``, key fabric: nodes, links and the path rule; a higher ``version`` replaces a lower one."""

    version: Count
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    ecmp: Ecmp

    def __post_init__(self) -> None:
        nodes = {node.id for node in self.nodes}
        if len(nodes) != len(self.nodes):
            raise ValueError("a node id is listed twice in nodes")
        for link in self.links:
            for port in (link.a, link.b):
                if port.rpartition("/")[0] not in nodes:
                    raise ValueError(f"link {link.id!r} ends at port {port!r} of a node that is not in nodes")
        if len({link.id for link in self.links}) != len(self.links):
            raise ValueError("a link id is listed twice in links")


class FabricEndpoints(JobMessage, frozen=True, kw_only=True):
    """Topic ``fabric-endpoints``, key fabric: an endpoint map passed on to the fabric that it lives on."""

    version: Count
    state: Literal["starting", "running", "ended"]
    endpoints: tuple[Endpoint, ...]


class JobFabric(JobMessage, frozen=True, kw_only=True):
    """Topic ``job-fabrics``, key job: the part of a fabric map that the traffic of a job's endpoints can take."""

    version: Count
    fabric_version: Count
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    ecmp: Ecmp
