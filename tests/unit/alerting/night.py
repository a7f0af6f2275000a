"""One target, a clock that is moved by hand, and what Kafka would keep of it."""

from __future__ import annotations

from contextlib import suppress

from schemas.alerting import AlertDelivery
from schemas.codec import decode, encode, key_of
from schemas.diagnosis import Incident
from skeletonhunter.alert_settings import AlertSettings, AlertTarget, Silence
from skeletonhunter.alerting.targets import Target
from skeletonhunter.alerting.telling import Teller
from skeletonhunter.sinks.webhook import DeliveryError
from tests.unit.alerting.incidents import SECOND_US, T0_US, Phone, target


class Night:
    """One target with a clock that is moved by hand; ``restart`` loses all but what Kafka would keep."""

    def __init__(self, aimed: AlertTarget | None = None, silences: tuple[Silence, ...] = ()) -> None:
        self.target = Target(aimed or target(), "https://hooks.example/x")
        self.alerts = AlertSettings(silences=silences)
        self.phone = Phone()
        self.now_us = T0_US
        self.kept: list[AlertDelivery] = []
        self.incidents: list[Incident] = []
        self.told: list[tuple[str, str]] = []
        self.restart()

    def restart(self) -> None:
        self.teller = Teller(self.target, self.alerts, self.phone, lambda: self.now_us)
        self.teller.keep = self._keep
        self.teller.book.restore(self.kept, self.incidents)

    def _keep(self, delivery: AlertDelivery) -> None:
        raw = encode("alert-deliveries", delivery)
        value = decode("alert-deliveries", key_of("alert-deliveries", delivery), raw, self.now_us + 10**12)
        assert isinstance(value, AlertDelivery)
        self.kept.append(value)
        if value.outcome == "delivered":
            self.told.append((value.incident, value.state))

    def hear(self, *incidents: Incident) -> list[tuple[str, str]]:
        """What is told because of these."""
        before = len(self.told)
        for each in incidents:
            self.incidents.append(each)
            self.now_us = max(self.now_us, each.t_us)
            with suppress(DeliveryError):
                self.teller.take(each)
        return self.told[before:]

    def wait(self, seconds: float) -> list[tuple[str, str]]:
        """What is told because time passes."""
        before = len(self.told)
        self.now_us += round(seconds * SECOND_US)
        self.teller.look_after()
        return self.told[before:]
