"""Where messages end up outside the pipeline: rows of ClickHouse, bodies of webhooks."""
