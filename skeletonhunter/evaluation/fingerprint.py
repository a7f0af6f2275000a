"""Has anything changed that could change a result? A hash of the code, of its data files and of the parameters."""

from __future__ import annotations

from hashlib import blake2b
from importlib import metadata, resources
from pathlib import Path

import msgspec

from streams.parameters import Parameters

PACKAGES = ("schemas", "skeleton", "probe_planner", "localization", "streams", "skeletonhunter")
NUMERIC = ("numpy", "scipy", "msgspec")
_SUFFIXES = frozenset({".py", ".yaml", ".toml", ".json", ".csv"})
_NO_INFLUENCE = frozenset({"cli", "sinks", "migrations", "tolerances.toml"})
"""Parts of a package's path that can't change a score: how it is called, stored and compared."""


def fingerprint(parameters: Parameters) -> str:
    """Sixteen hex digits; equal for equal code, numeric libraries and parameters."""
    digest = blake2b(digest_size=8)
    for name in NUMERIC:
        digest.update(f"{name} {metadata.version(name)}\n".encode())
    for package in PACKAGES:
        root = Path(str(resources.files(package)))
        for path in sorted(root.rglob("*")):
            if path.suffix in _SUFFIXES and not _NO_INFLUENCE.intersection(path.relative_to(root).parts):
                digest.update(f"{package}/{path.relative_to(root)}\n".encode() + path.read_bytes())
    digest.update(msgspec.json.encode(parameters))
    return digest.hexdigest()
