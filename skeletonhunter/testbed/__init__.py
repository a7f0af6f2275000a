"""A simulated fabric with jobs and faults, and the recordings that it writes. Knows the contract, not the engines."""
