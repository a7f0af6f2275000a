"""The host agent: reads devices, publishes what they say, carries out probe plans. Light imports.

    parts (rnic, probing, flows, events, switches, clocks, maps)     ``observing`` says how they are asked
      │ facts without an envelope            ▲ maps, plans, anomalies
    ``agent`` on ``loop``, ``supervision``   ``following`` (Kafka), ``residents``: who lives here
      │ ``stamping``: who, which boot, which number, which clock
    ``publishing`` ── ``spool`` while Kafka is away ── ``kafka_producer``

``running`` puts it together from ``agent_settings`` by ``wiring``; ``health`` and ``throttling`` watch the agent.
"""
