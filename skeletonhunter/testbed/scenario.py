"""What is to be simulated? A scenario as a value, and as a TOML or JSON file of the same shape.

Times are seconds of the recording. What a scenario leaves out is drawn from its seed or has the default shown here.
Unknown fields are refused, with their place.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, field

Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0.0)]
JobKind = Literal["dense", "moe", "fsdp", "serving", "debugging"]


class ScenarioError(ValueError):
    """A scenario that can't be simulated: one sentence with its place."""


class FabricPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """Hosts and cabling, see ``clos.RailSpec``. ``paths``: agents trace them, or readers compute them by hash."""

    hosts: Positive = 16
    rails: Annotated[int, Meta(ge=1, le=8)] = 8
    hosts_per_leaf: Positive = 8
    spines: Positive = 4
    dual_tor: bool = False
    segments_per_pod: Positive | None = None
    paths: Literal["traced", "hash"] = "traced"


class JobChange(Struct, frozen=True, forbid_unknown_fields=True):
    """Something that happens to a job and is no fault: a container moves, the job grows or shrinks, pauses, or ends."""

    at_s: Seconds
    what: Literal["migrate", "resize", "checkpoint", "end"]
    dp: Positive | None = None
    lasts_s: Seconds = 30.0


class JobPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """A job. ``tp`` ranks sit in one container of ``tp`` RNICs. ``phased``: containers come up in three waves.

    ``straggler_s``: one container is always so much later than the others, which wait for it.
    """

    kind: JobKind = "dense"
    tp: Annotated[int, Meta(ge=1, le=8)] = 8
    pp: Positive = 4
    dp: Positive = 4
    ep: Positive = 1
    period_s: Annotated[float, Meta(gt=1.0)] = 20.0
    spread: Annotated[float, Meta(ge=0.0, le=0.5)] = 0.014
    stage_shift_s: float | None = None
    reveal_ranks: bool = True
    phased: bool = False
    ready_s: Seconds = 60.0
    straggler_s: Seconds = 0.0
    changes: tuple[JobChange, ...] = ()


class FaultPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """A fault to inject: one of the nineteen issues, ``congestion``, or a monitor fault. Null fields are drawn."""

    what: str
    start_s: Seconds | None = None
    end_s: Seconds | None = None
    severity: Annotated[float, Meta(ge=0.0, le=1.0)] | None = None


class TelemetryPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """How imperfect collection is: shares of messages lost, repeated, late, of values not read."""

    lost: Annotated[float, Meta(ge=0.0, le=0.5)] = 2e-4
    repeated: Annotated[float, Meta(ge=0.0, le=0.5)] = 2e-4
    late: Annotated[float, Meta(ge=0.0, le=0.5)] = 5e-4
    unread: Annotated[float, Meta(ge=0.0, le=0.5)] = 5e-4
    resets: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.02
    flow_tables_s: Annotated[float, Meta(gt=0.0)] = 10.0
    bursts: bool = True
    warnings: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.7
    hardware_stamps: bool = True


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """All that is to be simulated; equal scenarios give equal recordings."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    seed: Annotated[int, Meta(ge=0)] = 0
    description: str = ""
    seconds: Annotated[int, Meta(ge=30, le=7200)] = 240
    fabric: FabricPlan = field(default_factory=FabricPlan)
    jobs: tuple[JobPlan, ...] = field(default_factory=lambda: (JobPlan(),))
    faults: tuple[FaultPlan, ...] = ()
    telemetry: TelemetryPlan = field(default_factory=TelemetryPlan)
    probes_per_train: Annotated[int, Meta(ge=1, le=10_000)] = 200
    rtt_samples: Annotated[int, Meta(ge=1, le=3)] = 3


def read_scenario(path: Path) -> Scenario:
    """The scenario in a ``.toml`` or ``.json`` file.

    Raises:
        ScenarioError: the file can't be read, or a field is wrong or unknown.
    """
    try:
        raw = path.read_bytes()
        tree = tomllib.loads(raw.decode()) if path.suffix == ".toml" else msgspec.json.decode(raw)
        return msgspec.convert(tree, Scenario)
    except OSError as error:
        raise ScenarioError(f"{path}: can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: not TOML: {error}") from error
    except msgspec.MsgspecError as error:
        raise ScenarioError(f"{path}: {error}") from error
