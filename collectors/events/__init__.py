"""What do the devices of a host, its containers and its switches say about themselves? Facts for ``device-events``.

lines -> ``framing`` (when, who) -> ``classifying`` (which code, about what) -> ``devices`` (which component) -> facts.
Beside the logs: checks of what is configured (``checks``), LLDP neighbours, and what the container runtime tells.
"""
