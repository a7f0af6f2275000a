"""Questions to ClickHouse, answered as plain rows."""

from __future__ import annotations

from typing import Any


def rows(client: Any, sql: str) -> list[dict[str, Any]]:
    """The answer, one mapping per row."""
    answer = client.query(sql)
    return [dict(zip(answer.column_names, row, strict=True)) for row in answer.result_rows]


def one(client: Any, sql: str) -> Any:
    """The only value of the only row."""
    answer = client.query(sql).result_rows
    assert len(answer) == 1
    assert len(answer[0]) == 1
    return answer[0][0]
