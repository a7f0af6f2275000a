"""Where jobs and fabrics are mapped: endpoint maps from files or Kubernetes, fabric maps from a file or LLDP.

One agent for a fabric or cluster publishes maps, not each host's; all read them from Kafka.
"""
