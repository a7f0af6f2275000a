"""The host agent: reads counters, flow tables, warnings and clocks, and carries out probe plans. Not built yet."""
