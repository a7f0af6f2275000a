"""What the long-running parts tell Prometheus: readings of workers, sinks and alert senders (``schemas.metrics``)."""
