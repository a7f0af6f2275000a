"""What do the virtual switch and the RNICs of this host hold for each flow? Open vSwitch, tc flower and RNIC dumps.

text -> ``datapath``, ``tc``, ``rnic`` (pure parsers) -> ``chains`` (recirculation followed) -> ``places`` (whose are
the ports and addresses) -> ``rows`` (schema rows) -> ``snapshots`` (whole or what has changed) -> ``collector``.
"""
