"""RNICs of this host: counters, bursts, and the state of ports, GIDs and PCIe links. For any driver, from sysfs.

Import what is needed from the modules; they load nothing but the standard library, msgspec and ``schemas``:
``counters.RnicCounters``, ``burst_reports.RnicBursts`` and ``state.RnicState`` are the agent's parts,
``placement.Placement`` tells them whose devices these are.
"""
