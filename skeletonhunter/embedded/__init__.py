"""Services that come along: a Kafka broker (``broker``), and how processes are started so that none is left over."""
