"""Small sysfs trees on a disk, from the texts in tests/data/collectors/rnic or made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from collectors.observing import Now
from collectors.rnic.placement import Placement

DATA = Path(__file__).parents[3] / "data" / "collectors" / "rnic"
SECOND = 1_000_000
T0 = 1_700_000_000 * SECOND


def plant(sys: Path, name: str) -> Path:
    """Writes the tree of a file below ``sys``."""
    for line in (DATA / f"{name}.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            path, _, content = line.partition("\t")
            put(sys, path, content)
    return sys


def put(sys: Path, path: str, content: str) -> None:
    """One file or link; a newline at the end unless the content says ``\\c``."""
    target = sys / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if content.startswith("-> "):
        target.symlink_to(content[3:])
        return
    text = content.replace("\\n", "\n")
    target.write_text(text[:-2] if text.endswith("\\c") else text + "\n")


def card(sys: Path, name: str, pci: str, counters: dict[str, int | str], **files: str) -> Path:
    """A card with one port at a PCI address; its folder."""
    folder = f"devices/pci{pci[:7]}/{pci}/infiniband/{name}"
    put(sys, f"{folder}/device", "-> ../..")
    for path, content in {"ports/1/rate": "100 Gb/sec (4X EDR)", **files}.items():
        put(sys, f"{folder}/{path.replace('__', '/')}", content)
    for path, value in counters.items():
        put(sys, f"{folder}/ports/1/{path}", str(value))
    (sys / "class/infiniband").mkdir(parents=True, exist_ok=True)
    (sys / "class/infiniband" / name).symlink_to(sys / folder)
    return sys / folder


def placed(*rnics: str, container: str = "c0", **further: object) -> tuple[Placement, ...]:
    """Endpoints of one container."""
    return tuple(Placement(job="j", container=container, host="h", rnic=rnic, **further) for rnic in rnics)  # type: ignore[arg-type]


def at(second: float, wall_off_us: int = 0) -> Now:
    """An instant; the host's clock may be off."""
    return Now(T0 + round(second * SECOND) + wall_off_us, 50 * SECOND + round(second * SECOND))


def columns(observed: Sequence[object], rnic: str) -> dict[str, list[int | None]]:
    """All samples of one RNIC in some messages."""
    joined: dict[str, list[int | None]] = {}
    for one in observed:
        if one.topic == "rnic-counters":  # type: ignore[attr-defined]
            for fields in one.fields["rnics"]:  # type: ignore[attr-defined]
                if fields["rnic"] == rnic:
                    for name, values in fields.items():
                        if name != "rnic":
                            joined.setdefault(name, []).extend(values)
    return joined
