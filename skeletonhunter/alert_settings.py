"""Whom to tell of which incidents, how, and when not: the settings of alerts."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from schemas.alerting import Severity
from schemas.diagnosis import ComponentClass

Url = Annotated[str, Meta(min_length=1)]
Text = Annotated[str, Meta(min_length=1)]
AlertFormat = Literal["json", "alertmanager", "pagerduty", "slack"]
PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue"


class AlertTarget(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One receiver of alerts, and what it is told.

    name: names its consumer group, pages, log lines and metrics; a target with a new name begins anew.
    url, url_file, url_env: where it is: as text, as the content of a file, or in an environment variable. One of them;
    PagerDuty's may be left out.
    token_file, token_env: PagerDuty's routing key; for the others what goes into `Authorization: Bearer`.
    key_file, key_env: key of the signature (HMAC-SHA256) that goes with each request.
    least_severity: less urgent incidents are not told.
    tenants, component_classes, fabrics: only incidents of one of these; empty = all.
    updates: tell when verdict, severity or action change; otherwise only of beginning, rise of the severity, and end.
    settle_s: a page is opened when its incident has been there so long: the first verdict often becomes more exact
    within seconds, and one alert that is right is worth more than two.
    remind_s: tell again while it is open, after so long. null = never; Alertmanager is told again every 60 s anyway.
    storm_pages: when so many pages of a fabric were opened within `storm_s`, further incidents join the last one; and
    incidents of one host or switch share a page within `storm_s`. null = each incident is a page.
    """

    name: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9-]{0,62}$")]
    format: AlertFormat
    url: Url | None = None
    url_file: Text | None = None
    url_env: Text | None = None
    token_file: Text | None = None
    token_env: Text | None = None
    key_file: Text | None = None
    key_env: Text | None = None
    least_severity: Severity = "info"
    tenants: tuple[Text, ...] = ()
    component_classes: tuple[ComponentClass, ...] = ()
    fabrics: tuple[Text, ...] = ()
    updates: bool = True
    settle_s: Annotated[float, Meta(ge=0)] = 10.0
    remind_s: Annotated[float, Meta(ge=1)] | None = None
    storm_pages: Annotated[int, Meta(ge=1)] | None = 3
    storm_s: Annotated[float, Meta(gt=0)] = 120.0


class Silence(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A time in which incidents open no pages, e.g. planned work. What is still open at its end is told then.

    All that is given must fit: `component` is an id that may hold `*` and `?`, `targets` are names of targets (empty =
    all of them). Reminders and updates of pages that were open before rest, their end is told.
    """

    since: Annotated[datetime, Meta(tz=True)]
    until: Annotated[datetime, Meta(tz=True)]
    why: Text
    targets: tuple[Text, ...] = ()
    fabric: Text | None = None
    tenant: Text | None = None
    component: Text | None = None
    component_class: ComponentClass | None = None


class AlertSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whom to tell of incidents.

    webhooks: short for targets of the format `json` that are told of every state of every incident.
    attempts: a target that does not answer within `timeout_s` is tried again, so many times in all.
    allow_networks: networks (CIDR) whose addresses targets may have although they are not public, such as `10.0.0.0/8`
    or `127.0.0.0/8`; loopback, private, link-local and metadata addresses are refused otherwise.
    proxy: an HTTP proxy for all calls; it then decides what may be reached. null = none, whatever the environment says.
    link: address of a page about an incident, `{incident}` stands for its id; goes into the alerts.
    """

    webhooks: tuple[Url, ...] = ()
    attempts: Annotated[int, Meta(ge=1)] = 8
    timeout_s: Annotated[float, Meta(gt=0)] = 5.0
    allow_networks: tuple[Text, ...] = ()
    proxy: Url | None = None
    link: Url | None = None
    targets: tuple[AlertTarget, ...] = ()
    silences: tuple[Silence, ...] = ()


def contradictions_of_alerts(alerts: AlertSettings) -> Iterator[tuple[str, str]]:
    """What the types can't express: (field, what is wrong with it). No URL is repeated: it may hold a secret."""
    for webhook in alerts.webhooks:
        yield from _wrong_url("webhooks", webhook)
    if len(set(alerts.webhooks)) < len(alerts.webhooks):
        yield "alerts.webhooks", "A URL is listed twice"
    for name, url in (("proxy", alerts.proxy), ("link", alerts.link)):
        if url is not None:
            yield from _wrong_url(name, url)
    for network in alerts.allow_networks:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            yield "alerts.allow_networks", f"Expected a network such as 10.0.0.0/8, got {network!r}"
    yield from _wrong_targets(alerts)


def _wrong_targets(alerts: AlertSettings) -> Iterator[tuple[str, str]]:
    names = [target.name for target in alerts.targets]
    for target in alerts.targets:
        if names.count(target.name) > 1:
            yield "alerts.targets", f"Target {target.name!r} is listed twice"
        yield from (("alerts.targets", f"Target {target.name!r}: {what}") for what in _wrong_target(target))
    for silence in alerts.silences:
        if silence.since >= silence.until:
            yield "alerts.silences", f"Silence {silence.why!r} ends before it begins"
        for unknown in set(silence.targets) - set(names):
            yield "alerts.silences", f"Silence {silence.why!r}: there is no target {unknown!r}"


def _wrong_url(name: str, url: str) -> Iterator[tuple[str, str]]:
    if not is_http(url):
        yield f"alerts.{name}", "Expected an http:// or https:// URL with a host"


def is_http(url: str) -> bool:
    """Whether a text is a URL that alerts can be sent to."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # no address in the brackets, no number for a port
        return False


def _wrong_target(target: AlertTarget) -> Iterator[str]:
    urls = [target.url, target.url_file, target.url_env]
    given = sum(each is not None for each in urls)
    if given > 1 or (given == 0 and target.format != "pagerduty"):
        yield "expected one of url, url_file, url_env"
    if target.url is not None and not is_http(target.url):
        yield "expected an http:// or https:// URL with a host"
    for name, pair in (("token", (target.token_file, target.token_env)), ("key", (target.key_file, target.key_env))):
        if all(pair):
            yield f"expected one of {name}_file, {name}_env"
    if target.format == "pagerduty" and not (target.token_file or target.token_env):
        yield "expected PagerDuty's routing key in token_file or token_env"
