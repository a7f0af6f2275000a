"""The page of all tables and views, read off the migrations."""

from __future__ import annotations

from skeletonhunter.migrations.catalogue import Column, Rollup, Table, View, rollups, tables, views

_INTRODUCTION = """# Tables and views

What the sink writes to ClickHouse, and the views that answer the first questions. This page is made from the
migrations; `skeletonhunter migrate --dry-run` prints their SQL.

- A row that is delivered again replaces itself: rows with equal sorting keys are one row. Read tables with `FINAL`, as
  the views do, and the answer is right at any moment.
- `t_us` is the exact instant, microseconds since the Unix epoch; `time` is the same as a date. NULL is unknown, never
  zero.
- Retention counts from `inserted_at`, when the row was written, so rows of an old recording stay as long as new ones.
- Every table ends with the same columns of provenance; they are listed once, [below](#provenance).
- A roll-up is a table made of others by a materialized view that is refreshed every minute: what came again or late is
  worked out anew. Read it with `FINAL`, too.

Questions and their queries are in [Query with SQL](../how-to/query-with-sql.md); for more than one server see
[ClickHouse on a cluster](../how-to/sql-on-a-cluster.md)."""

_PROVENANCE = frozenset(
    (
        *("producer_id", "producer_kind", "boot", "seq", "item", "clock_source", "clock_offset_us", "clock_error_us"),
        *("arrival_us", "kafka_partition", "kafka_offset", "inserted_at"),
    )
)


def tables_page() -> str:
    """``docs/reference/tables.md``."""
    parts = [_INTRODUCTION, _overview(), "## Provenance", _columns(_shared(tables()[0]))]
    parts += [_table(table) for table in tables()]
    parts += [_view(view) for view in views()]
    parts += [_rollup(rollup) for rollup in rollups()]
    return "\n\n".join(parts) + "\n"


def _overview() -> str:
    made = {rollup.table for rollup in rollups()}
    rows = [
        f"| [`{each.name}`](#{each.name}) | {'roll-up' if each.name in made else 'table'} | {each.comment} |"
        for each in tables()
    ]
    rows += [f"| [`{each.name}`](#{each.name}) | view | {each.comment} |" for each in views()]
    return "\n".join(["## Overview", "", "| name | kind | what a row is |", "|---|---|---|", *rows])


def _table(table: Table) -> str:
    facts = f"- Sorting key: `{table.order_by}`.\n- Kept for {table.days} days after it was written."
    own = [column for column in table.columns if column.name not in _PROVENANCE]
    return "\n\n".join([f"## {table.name}", table.comment, facts, _columns(own)])


def _shared(table: Table) -> list[Column]:
    return [column for column in table.columns if column.name in _PROVENANCE]


def _columns(columns: list[Column]) -> str:
    rows = [f"| `{each.name}` | `{each.type}` | {each.comment}{_origin(each)} |" for each in columns]
    return "\n".join(["| column | type | meaning |", "|---|---|---|", *rows])


def _origin(column: Column) -> str:
    return {"ALIAS": " (computed when read, not part of `*`)"}.get(column.kind or "", "")


def _view(view: View) -> str:
    return "\n\n".join([f"## {view.name}", view.comment, f"```sql\n{view.query}\n```"])


def _rollup(rollup: Rollup) -> str:
    words = f"Every minute, what this gives is appended to [`{rollup.table}`](#{rollup.table})."
    return "\n\n".join([f"## {rollup.name}", words, f"```sql\n{rollup.query}\n```"])
