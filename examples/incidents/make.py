"""Writes the bundled recordings: ``python examples/incidents/make.py [FOLDER]``.

The story of ``stale-flow-offload`` (the paper's section on its production case, retold for a job of 128 RNICs): at 76 s
the RNIC of one endpoint stops refreshing the counters of one flow; ten seconds later the control plane takes the flow
for idle and invalidates it in hardware, while the virtual switch still holds it as offloaded. Packets of that pair take
the software path: slow (86-186 s), dead (187-201 s), stuttering (202-212 s). The job's collective times out, the
operators isolate the RNIC (213-259 s) and end the processes (225 s); at 260 s the flow is installed anew and the job
goes on. ``healthy-job`` is another draw of the same job without the fault.

The monitored pair has the figure's latencies, losses and queue depths; everything else is drawn from a seed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from fig18 import read_fig18
from story import HEALTHY, STALE, Healthy, StaleFlow

from skeletonhunter.recordings.writer import RecordingWriter, about
from skeletonhunter.testbed.simulate import Simulation

HERE = Path(__file__).parent
PAPER = "latency, loss and queue depth of one pair: W. Liu et al., SIGCOMM 2025, DOI 10.1145/3718958.3750513, Fig. 18"
OWN = "all else simulated by examples/incidents/make.py"
LICENCE = "Apache-2.0; the series from Fig. 18: CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/)"


def write_incident(simulation: Simulation, folder: Path, origin: str, licence: str) -> None:
    """Lets a story happen and writes it as a recording, in place of the one that was made before."""
    scenario, span = simulation.scenario, simulation.world.span
    shutil.rmtree(folder / scenario.name, ignore_errors=True)
    with RecordingWriter(folder / scenario.name) as writer:
        simulation.run(writer)
        ends = (span.t0_us, span.at(span.seconds))
        writer.finish(about(scenario.name, scenario.description, ends, origin, licence), simulation.truth())


def main() -> None:
    """Both recordings."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    write_incident(StaleFlow(STALE, read_fig18(HERE / "data")), folder, f"{PAPER}; {OWN}", LICENCE)
    write_incident(Healthy(HEALTHY), folder, OWN, "Apache-2.0")


if __name__ == "__main__":
    main()
