"""Is this installation fit to work? Questions to Kafka, ClickHouse and this host, with answers in words.

Each check looks at the real thing and changes nothing. ``examination`` asks them in the order in which they depend on
each other; what can't be asked because something before it is wrong is skipped, by name.
"""
