"""How far may this host's clock be off, and was it stepped? The clock of every message's envelope, and ``clock_step``.

``kernel`` (adjtimex), ``chrony`` (chronyc), ``ptp`` (pmc, ptp4l, phc2sys) -> ``estimates`` (one ``Clock``) ->
``watch``.
"""
