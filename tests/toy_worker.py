"""``python -m tests.toy_worker --config FILE [--stages a,b]``: the command ``work`` with the toy stages."""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

import msgspec

from skeletonhunter.settings import Settings
from skeletonhunter.sinks.running import log_to_stderr
from skeletonhunter.working import worker_setup
from streams.serving import serve
from tests.toy_pipeline import TOYS

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--stages")
    options = parser.parse_args()
    log_to_stderr()
    setup = worker_setup(msgspec.convert(tomllib.loads(options.config.read_text()), Settings, strict=False))
    if options.stages:
        setup = msgspec.structs.replace(setup, stages=tuple(options.stages.split(",")))
    serve(setup, TOYS)
