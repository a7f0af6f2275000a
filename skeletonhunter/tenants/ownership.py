"""Which messages may pass between a tenant's topics and the pipeline's? Decided by the endpoint maps alone. Pure.

The scheduler's adapter writes the endpoint map of each job, with its tenant; tenants can't write it. A message of a
tenant's agent passes if its job is the tenant's, its fabric the job's, its ``tenant`` nobody else's, and its producer
bears the tenant's name: ``agent:<tenant>.<name>/...``, so that two tenants' agents never have the same name. An agent's
health may cover endpoints of the tenant's jobs only, and watch their cards only. Facts about hosts, switches and flows
are nobody's own: they come from the operator's agents.
"""

from __future__ import annotations

import re

from schemas.codec import BadRecord
from schemas.envelope import JobMessage, Message
from schemas.maps import Endpoint, EndpointMap
from schemas.telemetry import AgentHealth

UP = ("agent-health", "job-progress", "probe-results", "rnic-bursts", "rnic-counters")
"""What a tenant's agents tell."""

DOWN = ("endpoint-map", "probe-plan-deltas", "probe-plans", "skeleton-updates")
"""What a tenant's agents and users are told, of their own jobs."""

_TENANT = re.compile(r"[A-Za-z0-9_-]{1,64}")


class TenantError(ValueError):
    """A name that can't be a tenant's."""


def prefix_of(tenant: str) -> str:
    """What stands before the topics of a tenant, behind the installation's own prefix.

    Raises:
        TenantError: the name has other characters; a dot would let one tenant's prefix begin another's.
    """
    if not _TENANT.fullmatch(tenant):
        raise TenantError(f"{tenant!r} can't be a tenant, expected up to 64 letters, digits, '_' and '-'")
    return f"tenant.{tenant}."


class Ownership:
    """The jobs of one tenant, as the endpoint maps say; of others it is only known that they have a map."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self._name = f"agent:{tenant}."
        self._jobs: dict[str, EndpointMap] = {}
        self._endpoints: dict[str, dict[str, Endpoint]] = {}
        self._mapped: set[str] = set()

    def learn(self, value: EndpointMap) -> None:
        """Takes note of a map; one of another tenant takes the job away from this one."""
        self._mapped.add(value.job)
        known = self._jobs.get(value.job)
        if known is not None and value.version < known.version:
            return
        if value.tenant == self.tenant:
            self._jobs[value.job] = value
            self._endpoints.setdefault(value.job, {}).update({each.endpoint: each for each in value.endpoints})
        else:
            self._jobs.pop(value.job, None)
            self._endpoints.pop(value.job, None)

    def forget(self, job: str) -> None:
        """The job's map was deleted."""
        self._mapped.add(job)
        self._jobs.pop(job, None)
        self._endpoints.pop(job, None)

    def owns(self, job: str) -> bool:
        """Whether a job is the tenant's."""
        return job in self._jobs

    def knows(self, job: str) -> bool:
        """Whether the job has, or had, a map; of others nobody can say yet whose they are."""
        return job in self._mapped

    def check(self, topic: str, value: Message) -> None:
        """Lets a message of the tenant's agents pass.

        Raises:
            BadRecord: ``foreign_producer``.
        """
        if not value.producer.id.startswith(self._name):
            raise _foreign(topic, f"producer.id is {value.producer.id!r}, expected one that begins with {self._name!r}")
        if isinstance(value, AgentHealth):
            self._check_health(topic, value)
        elif not isinstance(value, JobMessage) or value.job not in self._jobs:
            raise _foreign(topic, f"job is {getattr(value, 'job', None)!r}, which is not of tenant {self.tenant}")
        else:
            if value.tenant not in (None, self.tenant):
                raise _foreign(topic, f"tenant is {value.tenant!r}, but it came from tenant {self.tenant}")
            self._check_fabric(topic, value, {self._jobs[value.job].fabric})

    def _check_health(self, topic: str, value: AgentHealth) -> None:
        own = {each.endpoint: each for job in self._endpoints.values() for each in job.values()}
        for endpoint in value.covers:
            if endpoint not in own:
                raise _foreign(topic, f"covers has {endpoint!r}, which is not of tenant {self.tenant}")
        cards = {f"rnic:{each.host}/{each.rnic}" for each in own.values()} if value.watches else set()
        for component in value.watches or ():
            if component not in cards:
                raise _foreign(topic, f"watches has {component!r}, which tenant {self.tenant} does not use")
        self._check_fabric(topic, value, {each.fabric for each in self._jobs.values()})

    def _check_fabric(self, topic: str, value: Message, fabrics: set[str]) -> None:
        if value.fabric not in fabrics:
            raise _foreign(topic, f"fabric is {value.fabric!r}, where tenant {self.tenant} has no such job")


def _foreign(topic: str, detail: str) -> BadRecord:
    return BadRecord("foreign_producer", f"{topic}: {detail}")
