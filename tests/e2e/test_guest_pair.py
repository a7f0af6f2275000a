"""What two agents wrote in the RDMA guest, judged as the check does: blamed with the drop rule, red without it.

``tests/data/ovs-pair`` are the facts of one run of ``.ci/rdma-guest ovs``: probes over Soft-RoCE, flow tables of a real
Open vSwitch, and a rule of host h1 that drops its RDMA packets from the 35th second on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

CHECKOUT = Path(__file__).parents[2]


def records(host: int) -> list[dict[str, Any]]:
    packed = (CHECKOUT / f"tests/data/ovs-pair/host{host}.ndjson.zst").read_bytes()
    text = zstandard.ZstdDecompressor().decompress(packed, max_output_size=1_000_000)
    return [json.loads(line) for line in text.splitlines()]


def judge(share: Path) -> tuple[int, str]:
    command = [sys.executable, CHECKOUT / ".ci/rdma-guest.d/judge.py", share]
    done = subprocess.run(command, capture_output=True, text=True, cwd=CHECKOUT, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("with_rule", [True, False])
def test_the_virtual_switch_is_blamed_if_its_table_shows_the_drop(tmp_path: Path, with_rule: bool) -> None:
    for host in (1, 2):
        lines = records(host)
        for line in lines:
            if line["topic"] == "flow-tables" and not with_rule:
                value = line["value"]
                value["flows"] = [flow for flow in value["flows"] if flow["next"] is not None]
        (tmp_path / f"host{host}.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, said = judge(tmp_path)
    assert code == (0 if with_rule else 1), said
    if with_rule:
        assert "network_fault vswitch:h1" in said
