"""What the doctor says of settings that can't be read leads to the page that explains them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skeletonhunter.cli import build_cli


@pytest.mark.parametrize("option", ["--config", "--agent"])
def test_settings_that_cannot_be_read_lead_to_their_page(option: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(build_cli("doctor"), ["doctor", option, str(tmp_path / "gone.toml"), "--json"])
    assert done.exit_code == 1
    (finding,) = json.loads(done.stdout)["findings"]
    assert "gone.toml: there is no such file" in finding["says"]
    assert {"docs/reference/configuration.md", "docs/reference/agent.md"} <= set(finding["fix"].split())
