"""SIGHUP: an agent's limits change while it runs; a file that can't be used changes nothing and says so."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.integration.collectors.agents import Reader, agent, job_map, make_cards, plan, publish, settings_file
from tests.integration.collectors.brokers import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

PATIENCE_S = 60.0


def until_it_says(log: Path, words: str, since: int = 0) -> str:
    """The line of the log with these words, after so many characters."""
    ends_s = time.monotonic() + PATIENCE_S
    while words not in log.read_text()[since:]:
        assert time.monotonic() < ends_s, log.read_text()[-2000:]
        time.sleep(0.1)
    return next(line for line in log.read_text()[since:].splitlines() if words in line)


def test_limits_change_while_it_runs_and_a_wrong_file_changes_nothing(own_broker: Broker, tmp_path: Path) -> None:
    address = own_broker.address
    make_cards(tmp_path / "sys", 1)
    publish(address, "endpoint-map", "j-1", job_map([1, 2]))
    publish(address, "probe-plans", "j-1", plan([(1, 2)]))
    files = [settings_file(tmp_path, number, address, ["probing"]) for number in (1, 2)]
    good, log = files[0].read_text(), files[0].with_suffix(".log")
    reader = Reader(address, ["probe-results"])

    def sizes() -> set[int]:
        """Packets of the last trains that went."""
        trains = [result["sent"] for value in reader.of("probe-results") for result in value["results"]]
        return {sent for sent in trains[-3:] if sent}

    with agent(files[0]) as first, agent(files[1]) as second:
        reader.until(lambda _: sizes() == {10})
        files[0].write_text(good.replace("trace_s = 0", "trace_s = 0\ntrain_packets = 4\nport = 17999"))
        first.process.send_signal(signal.SIGHUP)
        until_it_says(log, "the settings are read again; changed: probing.train_packets")
        until_it_says(log, "probing.port: this needs a restart of the agent, and stays as it is")
        reader.until(lambda _: sizes() == {4})
        files[0].write_text(good.replace("trace_s = 0", "train_packets = 0"))
        first.process.send_signal(signal.SIGHUP)
        line = until_it_says(log, "the settings stay as they are")
        assert "agent-1.toml" in line and "train_packets" in line and "ERROR" in line
        heard = len(reader.values) + 4
        reader.until(lambda values: len(values) >= heard and sizes() == {4})
        files[0].write_text(good.replace("[clock]", 'log_level = "error"\n[clock]'))
        first.process.send_signal(signal.SIGHUP)
        reader.until(lambda _: sizes() == {10})
        assert (first.stop(), second.stop()) == (0, 0)
    told = [value["producer"] for value in reader.of("probe-results") if value["src"] == "c-1/mlx5_0"]
    assert len({producer["boot"] for producer in told}) == 1, "one run, from beginning to end"
    assert "agent h-1 ends" not in log.read_text(), "with errors only it does not say so"
    reader.close()
