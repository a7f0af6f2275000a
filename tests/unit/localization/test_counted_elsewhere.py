"""A link that counts checksum errors, and losses that trains alone lay at another place: replies that come over it."""

from __future__ import annotations

import msgspec
import pytest

from schemas.instants import SECOND_US
from schemas.telemetry import SwitchQueues
from tests.small_fabric import BEGIN_US, WELL, Suffers, endpoint, fabric_map, health, leaf, queues, told, uplink

RECEIVER = endpoint(7, 0)
UPLINK = uplink(leaf(7, 0), 0)
PORT = next(link.a if link.a.startswith(leaf(7, 0)) else link.b for link in fabric_map().links if link.id == UPLINK)


def counting(errors: int) -> list[SwitchQueues]:
    """Queues of every port; the uplink's counts so many checksum errors a second from second 30 on."""

    def counted(message: SwitchQueues) -> SwitchQueues:
        ports = []
        for port in message.ports:
            seconds = [max(0, (t_us - BEGIN_US) // SECOND_US - 30) for t_us in port.t_us]
            mine = errors if f"{message.switch}/{port.port}" == PORT else 0
            ports.append(msgspec.structs.replace(port, crc_errors=tuple(mine * second for second in seconds)))
        return msgspec.structs.replace(message, ports=tuple(ports))

    return [counted(message) for message in queues(60)]


@pytest.mark.parametrize(
    ("errors", "loss", "beneath", "blamed"),
    [
        (50, 0.02, False, UPLINK),
        (500, 0.07, False, UPLINK),
        (1, 0.02, False, "a7-0"),
        (50, 0.02, True, "a7-0"),
    ],
)
def test_errors_that_a_link_counts_explain_lost_replies(errors: int, loss: float, beneath: bool, blamed: str) -> None:
    """Few errors, or losses of a neighbour beneath the same leaf, whose replies can't come over it: not that link."""
    senders = {endpoint(host, 0) for host in (1, 3, 5, *((6,) if beneath else ()))}

    def effect(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        lossy = (src == RECEIVER and UPLINK in path) or (dst == RECEIVER and src in senders)
        return Suffers(loss=loss) if second > 30 and lossy else WELL

    (incident,) = told(60, effect, health(60), counting(errors))
    assert incident.component in (f"link:{blamed}", "rnic:h7/mlx5_0" if blamed == "a7-0" else "")
