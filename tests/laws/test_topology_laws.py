"""However maps of jobs come, the topology is what the newest ones say together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from localization.topology import Topology, rnic_node
from schemas.maps import Endpoint, FabricEndpoints
from tests.small_fabric import envelope

JOBS, HOSTS = ("a", "b", "c"), 3
Listed = tuple[int, int, int, str]
"""(container, RNIC, host, state)"""

LISTED = st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, HOSTS - 1), st.sampled_from(["ready", "gone"]))
MAPS = st.tuples(st.sampled_from(JOBS), st.booleans(), st.lists(LISTED, max_size=4, unique_by=lambda each: each[:2]))


def message(job: str, version: int, ended: bool, listed: list[Listed]) -> FabricEndpoints:
    rows = tuple(
        Endpoint(
            endpoint=f"c{container}/r{rnic}",
            container=f"c{container}",
            host=f"h{host}",
            rnic=f"r{rnic}",
            rail=rnic,
            state=state,  # type: ignore[arg-type]
        )
        for container, rnic, host, state in listed
    )
    state = "ended" if ended else "running"
    return FabricEndpoints(**envelope("maps", version, version), job=job, version=version, state=state, endpoints=rows)


def plain(maps: list[FabricEndpoints]) -> dict[str, tuple[str, Endpoint]]:
    """Endpoint to (job, entry), put together from all newest maps."""
    newest = {each.job: each for each in maps}
    return {
        entry.endpoint: (job, entry)
        for job in sorted(newest)
        if newest[job].state != "ended"
        for entry in newest[job].endpoints
        if entry.state != "gone"
    }


@given(st.lists(MAPS, max_size=8))
def test_maps_one_by_one_make_what_all_say_together(drawn: list[tuple[str, bool, list[Listed]]]) -> None:
    topology, maps = Topology(), list[FabricEndpoints]()
    for version, (job, ended, listed) in enumerate(drawn, 1):
        before, crowded = plain(maps), {host for host, rnics in topology.rnics_of.items() if len(rnics) > 1}
        maps.append(message(job, version, ended, listed))
        moved = topology.take_endpoints(maps[-1])
        now = plain(maps)
        rnics: dict[str, set[str]] = {}
        for _, entry in now.values():
            rnics.setdefault(entry.host, set()).add(rnic_node(entry))
        assert topology.endpoints == {name: entry for name, (_, entry) in now.items()}
        assert topology.job_of == {name: owner for name, (owner, _) in now.items()}
        assert topology.rnics_of == rnics
        assert set(topology.joined) == set(now)
        assert not set(topology.left) & set(now)
        assert {name for name in before if name not in now} <= set(topology.left)
        changed = {host for host in {*crowded, *rnics} if (host in crowded) != (len(rnics.get(host, ())) > 1)}
        assert {
            name for name in {*before, *now} if before.get(name, ("", None))[1] != now.get(name, ("", None))[1]
        } <= moved
        assert {name for name, (_, entry) in now.items() if entry.host in changed} <= moved
