"""What can go wrong: the nineteen issues, congestion, and the troubles of the monitor, each as an injector.

An injector takes a ``Site`` and returns an ``Injection``: which component, and which changes of the world's state.
"""

from collections.abc import Callable, Mapping

from skeletonhunter.testbed.effects import Injection
from skeletonhunter.testbed.faults import hosts, monitor, rnics, switches
from skeletonhunter.testbed.faults.site import Site

Injector = Callable[[Site], Injection]

INJECTORS: Mapping[str, Injector] = {
    injector.__name__: injector
    for injector in (
        switches.crc_error,
        switches.switch_port_down,
        switches.switch_port_flapping,
        switches.switch_offline,
        rnics.rnic_hardware_failure,
        rnics.rnic_firmware_unresponsive,
        rnics.rnic_port_down,
        rnics.rnic_port_flapping,
        rnics.offloading_failure,
        rnics.bond_error,
        rnics.gid_change,
        hosts.pcie_nic_error,
        hosts.gpu_direct_rdma_error,
        hosts.not_using_rdma,
        hosts.repetitive_flow_offloading,
        hosts.suboptimal_flow_offloading,
        hosts.container_crash,
        hosts.hugepage_misconfiguration,
        hosts.congestion_control_misconfiguration,
        hosts.congestion,
        monitor.agent_missing,
        monitor.agent_starved,
        monitor.clock_bad,
        monitor.collector_gap,
    )
}
"""By name of the issue, of the monitor fault, or ``congestion``."""

__all__ = ["INJECTORS", "Injection", "Injector", "Site"]
