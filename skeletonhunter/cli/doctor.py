"""``skeletonhunter doctor``: what is wrong with this installation, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collectors.agent_settings import AgentSettings
    from skeletonhunter.doctor.findings import Finding
    from skeletonhunter.settings import Settings


_SETTINGS = "Correct it; docs/reference/configuration.md has all settings, docs/reference/agent.md the agent's."


def doctor(
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    clickhouse: Annotated[str | None, typer.Option(help="ClickHouse DSN, a server's or chdb:///path.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    agent: Annotated[
        Path | None, typer.Option(help="Settings of this host's agent (TOML): also look at the host.")
    ] = None,
    most_lag: Annotated[int, typer.Option(min=0, help="Messages that a reader may be behind.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check settings, Kafka, ClickHouse, plans and this host; say what to fix. Exit code 1: something failed."""
    import time

    import msgspec

    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.doctor.examination import examine
    from skeletonhunter.doctor.findings import failed, is_healthy, ok
    from skeletonhunter.settings_sources import SettingsError

    findings: list[Finding] = []
    try:
        settings, of_agent = _settings(config, agent, {"kafka.url": kafka, "clickhouse.dsn": clickhouse})
    except SettingsError as error:
        findings.append(failed("settings", str(error), _SETTINGS))
    else:
        findings.append(ok("settings", "they can be read"))
        findings += examine(settings, of_agent, time.time_ns() // 1000, most_lag)
    if as_json:
        print_json({"healthy": is_healthy(findings), "findings": msgspec.to_builtins(findings)})
    else:
        _print(findings)
    raise typer.Exit(0 if is_healthy(findings) else 1)


def _settings(
    config: Path | None, agent: Path | None, flags: dict[str, object]
) -> tuple[Settings, AgentSettings | None]:
    """Of the installation and, if asked, of the agent; variables of the one are none of the other's."""
    import os

    from skeletonhunter.collecting import load_agent_settings
    from skeletonhunter.settings import load_settings

    settings = load_settings(config, os.environ, flags)
    return settings, None if agent is None else load_agent_settings(agent, {})


def _print(findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    looks = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        says = Text(finding.says)
        if finding.fix:
            says.append(f"\n→ {finding.fix}", style="bold")
        table.add_row(Text(finding.state, style=looks[finding.state]), Text(finding.check), says)
    Console().print(table)
