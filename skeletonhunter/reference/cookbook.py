"""The page of questions that can be asked in SQL, made from the files of ``skeletonhunter.queries``."""

from __future__ import annotations

from skeletonhunter.queries import Query, queries

_INTRODUCTION = """# Query with SQL

{count} questions and their queries. Every one is run by a test on recorded incidents, and its answer is checked there.

- On a server, use any client: `{{since:DateTime('UTC')}}` and the like are parameters of ClickHouse, which
  `clickhouse-client --param_since '2025-05-23 08:00:00'` and Grafana fill in; or put values in their place.
- On the embedded engine, which one process may open at a time:

  ```sh
  export SKELETONHUNTER_CLICKHOUSE__DSN=chdb:///path/to/db    # or --clickhouse with each command
  skeletonhunter query                                        # the names of all queries
  skeletonhunter query worst_pairs job=job-9504 since=2025-05-23T08:00 until=2025-05-23T09:00
  skeletonhunter query --sql "SELECT count() FROM probe_results FINAL"
  ```

  From Python: `clickhouse_connect.get_client(interface="chdb", path="/path/to/db")`.
- Tables and views are described in [Tables and views](../reference/tables.md), components in the
  [glossary](../glossary.md). Questions about days and weeks go to roll-ups by the minute (`pair_minutes`,
  `link_minutes`, `outcome_minutes`), which a server has up to date within a minute or so; questions about seconds to
  the rows themselves.
- How long each query takes on 100 million probe rows: [query latency and storage](../reference/query-latency.md).
"""


def cookbook_page() -> str:
    """``docs/how-to/query-with-sql.md``."""
    sections: dict[str, list[Query]] = {}
    for query in queries().values():
        sections.setdefault(query.section, []).append(query)
    parts = [_INTRODUCTION.format(count=len(queries())), _contents(sections)]
    for section, members in sections.items():
        parts.append(f"## {section}\n")
        parts += [_query(query) for query in members]
    return "\n".join(parts)


def _contents(sections: dict[str, list[Query]]) -> str:
    lines = []
    for section, members in sections.items():
        lines.append(f"- {section}")
        lines += [f"  - [{query.question}](#{_anchor(query.question)})" for query in members]
    return "\n".join(lines) + "\n"


def _anchor(heading: str) -> str:
    kept = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def _query(query: Query) -> str:
    parts = [f"### {query.question}\n", f"`{query.name}`. {query.words}\n"]
    if query.parameters:
        rows = [f"| `{each.name}` | `{each.type}` | {each.meaning} |" for each in query.parameters]
        parts.append("\n".join(["| parameter | type | meaning |", "|---|---|---|", *rows]) + "\n")
    rows = [f"| `{name}` | {meaning} |" for name, meaning in query.columns.items()]
    parts.append("\n".join(["| column of the answer | meaning |", "|---|---|", *rows]) + "\n")
    return "\n".join([*parts, f"```sql\n{query.sql}\n```\n"])
