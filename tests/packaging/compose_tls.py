"""What do docker-compose.yml and docker-compose.tls.yml come to together? Merged as Compose does, without an engine."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
CHECKOUT = Path(__file__).parents[2]
APPENDED = ("volumes", "ports", "tmpfs")
"""Lists of a service that grow; others are replaced."""
SECRETS = "${SECRETS:?run deploy/certificates}"


class _Override(list[Any]):
    """A list that replaces another one."""


class _Loader(yaml.SafeLoader):
    """Knows Compose's ``!override``."""


_Loader.add_constructor("!override", lambda loader, node: _Override(loader.construct_sequence(node)))  # type: ignore[arg-type]


def certificates(folder: Path, *names: str) -> Path:
    """What ``deploy/certificates`` makes."""
    command = [str(CHECKOUT / "deploy" / "certificates"), str(folder), *names]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def tls_compose(secrets: Path) -> Json:
    """Both files together, with the secrets of a folder, and paths in containers that lead there."""
    base = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())
    text = (CHECKOUT / "docker-compose.tls.yml").read_text()
    text = text.replace(SECRETS, str(secrets)).replace("_CA: /run/secrets", f"_CA: {secrets}")
    merged: Json = _merged(base, yaml.load(text, _Loader))
    return merged


def _merged(old: Any, new: Any, name: str = "") -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merged(old.get(key), item, key) for key, item in new.items()}}
    if isinstance(new, _Override):
        return list(new)
    return [*old, *new] if name in APPENDED and isinstance(old, list) else new


def kafka_properties(service: Json) -> dict[str, str]:
    """The broker's properties, as the image makes them of its environment."""
    return {
        name.removeprefix("KAFKA_").lower().replace("_", "."): str(value)
        for name, value in service["environment"].items()
    }
