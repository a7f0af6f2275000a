"""Can everybody be told who is to be told? Secrets can be read, addresses may be reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from skeletonhunter.alerting.targets import TargetError, targets_of
from skeletonhunter.doctor.findings import Finding, failed, listed, ok, warning
from skeletonhunter.settings import AlertSettings
from skeletonhunter.sinks.webhook import check_target


def check_alerts(alerts: AlertSettings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """The targets of alerts; nothing is sent to them."""
    try:
        targets = targets_of(alerts, environment)
    except TargetError as error:
        yield failed("alerts", str(error), "Put the secret where the settings say, readable for the alert sender.")
        return
    if not targets:
        yield warning(
            "alerts", "nobody is told of incidents", "Name somebody in alerts.targets: see docs/how-to/alerts.md"
        )
        return
    refused = []
    for target in targets:
        try:
            check_target(target, alerts)
        except TargetError as error:
            refused.append(str(error))
    for each in refused:
        yield failed("alerts", each, "Name its network in alerts.allow_networks, if that is where it should be.")
    if not refused:
        yield ok("alerts", f"{len(targets)} targets: {listed(f'{each.name} at {each.place}' for each in targets)}")
