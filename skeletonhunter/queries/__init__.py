"""Which questions can be asked of ClickHouse in SQL? One file each, with what it asks, takes and answers in its header.

A file ``<number>_<name>.sql`` begins with comment lines: ``section`` it belongs to, the question, further words, then
``parameter <name> <type>: <meaning>`` and ``column <name>: <meaning>``; the rest is the query. Parameters are those of
ClickHouse, ``{name:Type}``. The how-to page is made from the files, and tests run each of them on recorded data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

_FILE = re.compile(r"^\d\d_(?P<name>\w+)\.sql$")
_PARAMETER = re.compile(r"^parameter (?P<name>\w+) (?P<type>[^:]+): (?P<meaning>.+)$")
_COLUMN = re.compile(r"^column (?P<name>\w+): (?P<meaning>.+)$")


class QueryFileError(ValueError):
    """A file of this folder that is not in the form that the folder has."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a query takes; ``type`` is a type of ClickHouse."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question with its SQL; ``columns`` are those of the answer, in order, with their meanings."""

    name: str
    section: str
    question: str
    words: str
    parameters: tuple[Parameter, ...]
    columns: Mapping[str, str]
    sql: str


@cache
def queries() -> Mapping[str, Query]:
    """All queries by name, in the order of their numbers.

    Raises:
        QueryFileError: a file is not in the form of this folder.
    """
    found: dict[str, Query] = {}
    for entry in sorted(resources.files(__name__).iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".sql"):
            match = _FILE.match(entry.name)
            if match is None or match["name"] in found:
                raise QueryFileError(f"{entry.name}: expected <two digits>_<name>.sql, each name once")
            found[match["name"]] = parse(match["name"], entry.read_text())
    return found


def parse(name: str, text: str) -> Query:
    """The query in a file's text.

    Raises:
        QueryFileError: it lacks a section, a question, or its columns.
    """
    lines = text.splitlines()
    header = [line.removeprefix("--").strip() for line in lines if line.startswith("--")]
    sql = "\n".join(line for line in lines if not line.startswith("--")).strip()
    parameters = [match for line in header if (match := _PARAMETER.match(line))]
    columns = [match for line in header if (match := _COLUMN.match(line))]
    spoken = [line for line in header if not _PARAMETER.match(line) and not _COLUMN.match(line)]
    if len(spoken) < 2 or not spoken[0].startswith("section ") or not columns or not sql:
        raise QueryFileError(f"{name}: expected a section, a question, columns and a query")
    return Query(
        name=name,
        section=spoken[0].removeprefix("section "),
        question=spoken[1],
        words=" ".join(spoken[2:]),
        parameters=tuple(Parameter(match["name"], match["type"], match["meaning"]) for match in parameters),
        columns={match["name"]: match["meaning"] for match in columns},
        sql=sql,
    )
