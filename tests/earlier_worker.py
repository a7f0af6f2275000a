"""``python -P tests/earlier_worker.py --config FILE [toys]``: the worker of the version that is on the path.

The file is of today's version; settings that the earlier one does not know are left out, as an operator would.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from skeletonhunter.settings import Settings
from skeletonhunter.sinks.running import log_to_stderr
from skeletonhunter.working import worker_setup
from streams.serving import serve
from streams.stages import STAGES
from tests.toy_pipeline import TOYS


def settings_known_to(tree: dict[str, Any]) -> Settings:
    """The settings, without what is not known."""
    while True:
        try:
            return msgspec.convert(tree, Settings, strict=False)
        except msgspec.ValidationError as error:
            unknown = re.fullmatch(r"Object contains unknown field `(\w+)`(?: - at `\$\.([\w.]+)`)?", str(error))
            if unknown is None:
                raise
            inner = tree
            for name in (unknown[2] or "").split(".") if unknown[2] else ():
                inner = inner[name]
            del inner[unknown[1]]


if __name__ == "__main__":
    log_to_stderr()
    sys.stderr.write(f"stages of {sys.modules['streams.serving'].__file__}\n")
    stages = TOYS if sys.argv[3:] == ["toys"] else STAGES
    serve(worker_setup(settings_known_to(tomllib.loads(Path(sys.argv[2]).read_text()))), stages)
