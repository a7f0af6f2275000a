"""Recordings through the whole pipeline, in one process (``local``) or over Kafka (``kafka``), with one outcome."""
