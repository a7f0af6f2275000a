"""What is this program made of? Lock files, licences, a bill of materials, and known vulnerabilities, from one list.

    python -m tests.packaging.supply lock               resolve again (needs uv: pip install 'skeletonhunter[lock]')
    python -m tests.packaging.supply licences           write docs/reference/licences.md
    python -m tests.packaging.supply sbom FILE          write a bill of materials, CycloneDX 1.6
    python -m tests.packaging.supply vulnerabilities    ask OSV; exit code 3 = the service can't be reached

``requirements.lock`` has everything that development needs, ``deploy/requirements.lock`` what the images hold.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

CHECKOUT = Path(__file__).parents[2]
LOCK, DEPLOY = CHECKOUT / "requirements.lock", CHECKOUT / "deploy" / "requirements.lock"
PAGE = CHECKOUT / "docs" / "reference" / "licences.md"
EXTRAS = ("embedded", "rocksdb", "plots", "kubernetes", "gnmi", "docs", "dev")
"""Of the project. Left out: ``rdma`` (built against the host's libraries), ``fuzz`` and ``lock`` (tools)."""

ALLOWED = frozenset(
    (
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU"),
        *("MPL-2.0", "PSF-2.0", "ZPL", "Zlib", "Unlicense"),
    )
)
"""Licences under which parts may be used and passed on beside Apache-2.0; MPL-2.0 as libraries that are not changed."""

EXCEPTIONS: dict[str, str] = {
    "docutils": "builds the documentation only; public domain and BSD, but for an Emacs mode (GPL) that is not used",
}
"""Parts whose own words are not clear enough for ``ALLOWED``, and why they may be used."""

UNINSTALLED: dict[str, str] = {"colorama": "BSD-3-Clause", "tzdata": "Apache-2.0"}
"""Locked for other systems than Linux."""

SYNONYMS = {
    **dict.fromkeys(("Apache Software License", "Apache 2.0", "Apache License 2.0", "Apache-2"), "Apache-2.0"),
    **dict.fromkeys(("MIT License", "The MIT License"), "MIT"),
    **dict.fromkeys(("BSD License", "BSD"), "BSD"),
    **dict.fromkeys(("3-Clause BSD License", "BSD 3-Clause"), "BSD-3-Clause"),
    **dict.fromkeys(("Mozilla Public License 2.0 (MPL 2.0)", "MPL 2.0"), "MPL-2.0"),
    **dict.fromkeys(("ISC License (ISCL)", "ISC License"), "ISC"),
    **dict.fromkeys(("Python Software Foundation License", "PSF"), "PSF-2.0"),
    **dict.fromkeys(("Repoze Public License", "ZPL 2.1"), "ZPL"),
}
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?P<rest>[^\n]*(?:\n    --hash=[^\n]+)*)", re.M)


class Pin(NamedTuple):
    """A locked distribution and the SHA-256 of its files."""

    name: str
    version: str
    hashes: tuple[str, ...]


def pins(text: str) -> list[Pin]:
    """What a lock file holds."""
    found = _PIN.finditer(text)
    return [Pin(m["name"], m["version"], tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", m["rest"]))) for m in found]


def lock() -> None:
    """Resolves the project's dependencies again into both files."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--universal", "--generate-hashes", "--no-header"]
    command += ["--no-emit-index-url", "--python-version", "3.11", "--quiet", "--upgrade", "pyproject.toml"]
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    for path, more in ((LOCK, extras), (DEPLOY, ["--constraint", str(LOCK.relative_to(CHECKOUT))])):
        subprocess.run(
            [*command, *more, "--output-file", str(path)], cwd=CHECKOUT, check=True, stdout=subprocess.DEVNULL
        )


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_of(distribution: Distribution) -> str:
    """The licence, as an SPDX expression where the distribution gives one."""
    about: Any = distribution.metadata
    expression = about.get("License-Expression")
    classifiers = [
        each.split(" :: ")[-1] for each in about.get_all("Classifier") or () if each.startswith("License ::")
    ]
    words = expression or ", ".join(each for each in classifiers if each not in ("OSI Approved", "DFSG approved"))
    words = words or (about.get("License") or "").strip().split("\n")[0]
    return ", ".join(SYNONYMS.get(each.strip(), each.strip()) for each in words.split(","))


def licences() -> dict[str, str]:
    """Each locked distribution and its licence, as installed here; empty: it is not installed."""
    installed = {normal(each.metadata["Name"]): licence_of(each) for each in distributions()}
    return {pin.name: installed.get(pin.name) or UNINSTALLED.get(pin.name, "") for pin in pins(LOCK.read_text())}


def refused(found: dict[str, str]) -> dict[str, str]:
    """Distributions whose licence is not allowed; of alternatives one that is allowed is enough."""
    return {name: licence for name, licence in found.items() if name not in EXCEPTIONS and not is_allowed(licence)}


def is_allowed(licence: str) -> bool:
    """Whether a licence, or a combination of licences, may be used."""
    together = re.split(r" AND |, ", licence.replace("(", "").replace(")", ""))
    return bool(licence) and all(any(one in ALLOWED for one in each.split(" OR ")) for each in together)


def licences_page() -> str:
    """``docs/reference/licences.md``."""
    found, shipped = licences(), {pin.name for pin in pins(DEPLOY.read_text())}
    versions: dict[str, list[str]] = {}  # some have another version for each version of Python
    for pin in pins(LOCK.read_text()):
        versions.setdefault(pin.name, []).append(pin.version)
    head = (
        "# Licences\n\n<!-- Generated by `make licences` from requirements.lock; change nothing here. -->\n\n"
        "SkeletonHunter is under Apache-2.0. It uses the following distributions, at the versions that are locked; "
        "*shipped* are those in the images. A test holds them against a list of licences that are allowed.\n\n"
    )
    rows = [
        f"| `{n}` | {', '.join(versions[n])} | {found[n]} | {'yes' if n in shipped else ''} |" for n in sorted(found)
    ]
    exceptions = [f"- `{name}`: {why}." for name, why in EXCEPTIONS.items()]
    table = ["| distribution | version | licence | shipped |", "|---|---|---|---|", *rows]
    return head + "\n".join([*table, "", "Looked at one by one:", "", *exceptions]) + "\n"


def sbom() -> dict[str, Any]:
    """What the images hold, as CycloneDX 1.6; the same lock gives the same bytes."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    found = licences()
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{pin.name}@{pin.version}",
            "name": pin.name,
            "version": pin.version,
            "purl": f"pkg:pypi/{pin.name}@{pin.version}",
            "licenses": [{"license": {"name": found.get(pin.name) or "unknown"}}],
            "externalReferences": [
                {
                    "type": "distribution",
                    "url": f"pkg:pypi/{pin.name}@{pin.version}",
                    "hashes": [{"alg": "SHA-256", "content": each} for each in pin.hashes],
                }
            ],
        }
        for pin in pins(DEPLOY.read_text())
    ]
    own = f"pkg:pypi/{project['name']}@{project['version']}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, own + DEPLOY.read_text())}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": project["name"],
                "version": project["version"],
                "purl": own,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": components,
    }


def vulnerabilities() -> int:
    """Prints what OSV knows against the locked versions; 1 = something, 3 = it can't be reached."""
    import httpx

    locked = pins(LOCK.read_text())
    asked = [{"package": {"name": p.name, "ecosystem": "PyPI"}, "version": p.version} for p in locked]
    try:
        answer = httpx.post("https://api.osv.dev/v1/querybatch", json={"queries": asked}, timeout=20)
        answer.raise_for_status()
        results = answer.json()["results"]
    except (httpx.HTTPError, ValueError, KeyError) as error:
        sys.stdout.write(f"NOT RUN: the advisory service can't be reached: {type(error).__name__}\n")
        return 3
    known = list(_known(locked, results))
    sys.stdout.write("\n".join(known or [f"nothing is known against {len(locked)} distributions"]) + "\n")
    return int(bool(known))


def _known(locked: list[Pin], results: list[dict[str, Any]]) -> Iterator[str]:
    for pin, result in zip(locked, results, strict=True):
        for each in result.get("vulns", ()):
            yield f"{pin.name} {pin.version}: {each['id']}"


def main() -> int:
    """Runs by command."""
    words = sys.argv[1:]
    if words == ["lock"]:
        lock()
    elif words == ["licences"]:
        PAGE.write_text(licences_page())
    elif len(words) == 2 and words[0] == "sbom":
        Path(words[1]).parent.mkdir(parents=True, exist_ok=True)
        Path(words[1]).write_text(json.dumps(sbom(), indent=1) + "\n")
    elif words == ["vulnerabilities"]:
        return vulnerabilities()
    else:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
