"""Alert rules ask for metrics that exist, each is tested both ways, and promtool, where it is, agrees."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from schemas.metrics import METRICS, PREFIX

FOLDER = Path(__file__).parents[2] / "deploy/prometheus"
RULES = {rule["alert"]: rule for rule in yaml.safe_load((FOLDER / "rules.yml").read_text())["groups"][0]["rules"]}
TESTS = yaml.safe_load((FOLDER / "rules_test.yml").read_text())["tests"]

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed (Debian has it)"
)


def test_rules_ask_for_metrics_and_labels_that_are_declared() -> None:
    declared = {f"{PREFIX}{metric.name}": set(metric.labels) for metric in METRICS}
    for name, rule in RULES.items():
        for metric, selector in re.findall(rf"({PREFIX}\w+)(\{{[^}}]*\}})?", rule["expr"]):
            assert metric in declared, f"{name}: {metric}"
            assert set(re.findall(r'(\w+)!?="', selector)) <= declared[metric], f"{name}: {selector}"
    series = [each["series"] for test in TESTS for each in test["input_series"]]
    assert {re.match(r"\w+", each)[0] for each in series} - {"up"} <= set(declared)  # type: ignore[index]


def test_every_rule_says_what_happens_and_what_to_do_and_is_tested_both_ways() -> None:
    checks = [check for test in TESTS for check in test["alert_rule_test"]]
    fires = {check["alertname"] for check in checks if check["exp_alerts"]}
    is_quiet = {check["alertname"] for check in checks if not check["exp_alerts"]}
    assert fires == is_quiet == set(RULES)
    for rule in RULES.values():
        assert set(rule["annotations"]) == {"summary", "action"}
        assert rule["labels"]["severity"] in ("critical", "error", "warning")


def promtool(*arguments: str) -> int:
    return subprocess.run(["promtool", *arguments], capture_output=True, check=False).returncode


@needs_promtool
def test_promtool_accepts_rules_configuration_and_tests_and_can_refuse(tmp_path: Path) -> None:
    assert promtool("check", "rules", str(FOLDER / "rules.yml")) == 0
    assert promtool("check", "config", str(FOLDER / "prometheus.yml")) == 0
    assert promtool("test", "rules", str(FOLDER / "rules_test.yml")) == 0
    spoilt = (FOLDER / "rules.yml").read_text().replace("> 0.5", "> 0.9")
    (tmp_path / "rules.yml").write_text(spoilt)
    shutil.copy(FOLDER / "rules_test.yml", tmp_path)
    assert promtool("test", "rules", str(tmp_path / "rules_test.yml")) == 1
    (tmp_path / "rules.yml").write_text(spoilt.replace("sum by (", "sum bye ("))
    assert promtool("check", "rules", str(tmp_path / "rules.yml")) != 0
