"""The program: command line, settings, recordings, replays, sinks, testbed, scoring, embedded services."""
