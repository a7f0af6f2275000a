"""Where are the receivers, and what are their secrets? Settings with what they refer to, read once at the start.

Secrets come from files or environment variables; none of them is part of a ``repr``, an error or a log line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

from skeletonhunter.alert_settings import PAGERDUTY_URL, AlertSettings, AlertTarget, is_http


class TargetError(ValueError):
    """A target that can't be used; the text names it and what was expected, and holds no secret."""


@dataclass(frozen=True, slots=True)
class Target:
    """A receiver with its secrets."""

    settings: AlertTarget
    url: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Its name."""
        return self.settings.name

    @property
    def group(self) -> str:
        """Its consumer group, without prefix."""
        return f"alert-{self.name}"

    @property
    def place(self) -> str:
        """Scheme, host and port: what may be told to anybody."""
        return place_of_url(self.url)


def place_of_url(url: str) -> str:
    """Scheme, host and port of a target: what may be logged."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}"


def plain_target(webhook: str) -> Target:
    """The target that a URL of ``alerts.webhooks`` is short for; its name gives nothing of the URL away."""
    name = blake2b(webhook.encode(), digest_size=6).hexdigest()
    return Target(AlertTarget(name=name, format="json", url=webhook, storm_pages=None, settle_s=0.0), webhook)


def targets_of(alerts: AlertSettings, environment: Mapping[str, str]) -> list[Target]:
    """All receivers, with their secrets.

    Raises:
        TargetError: a file or variable with a secret is not there, or holds nothing that can be used.
    """
    return [plain_target(url) for url in alerts.webhooks] + [_target(each, environment) for each in alerts.targets]


def _target(settings: AlertTarget, environment: Mapping[str, str]) -> Target:
    def secret(what: str, file: str | None, variable: str | None) -> str | None:
        return _secret(f"target {settings.name!r}: {what}", file, variable, environment)

    given = secret("url", settings.url_file, settings.url_env)
    url = settings.url or given or PAGERDUTY_URL
    if not is_http(url):
        raise TargetError(f"target {settings.name!r}: url: expected an http:// or https:// URL with a host")
    return Target(
        settings,
        url,
        secret("token", settings.token_file, settings.token_env),
        secret("key", settings.key_file, settings.key_env),
    )


def _secret(what: str, file: str | None, variable: str | None, environment: Mapping[str, str]) -> str | None:
    if file is None and variable is None:
        return None
    try:
        text = Path(file).read_text() if file is not None else environment.get(variable or "", "")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise TargetError(f"{what}: {file} can't be read: {reason}") from None
    if not text.strip():
        raise TargetError(f"{what}: expected a text in {file or f'environment variable {variable}'}, it is empty")
    return text.strip()
