"""A gNMI server in the test's own process: streams the notifications that it is given, then waits or ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
from pygnmi.spec.v080 import gnmi_pb2, gnmi_pb2_grpc


class Server(gnmi_pb2_grpc.gNMIServicer):
    """``notifications``: what a subscription is sent; ``ends``: whether the stream is over then, ``refuses``: or why
    not."""

    def __init__(self, notifications: list, ends: bool = False, refuses: grpc.StatusCode | None = None) -> None:
        self.notifications, self.ends, self.refuses = notifications, ends, refuses
        self.requests: list = []
        self.over = threading.Event()
        self._server = grpc.server(ThreadPoolExecutor(4))
        gnmi_pb2_grpc.add_gNMIServicer_to_server(self, self._server)
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def stop(self) -> None:
        self.over.set()
        self._server.stop(None).wait()

    def Capabilities(self, request: object, context: object) -> object:  # noqa: N802 - gRPC's name
        return gnmi_pb2.CapabilityResponse(supported_encodings=[gnmi_pb2.JSON_IETF], gNMI_version="0.8.0")

    def Subscribe(self, requests: Iterator, context: grpc.ServicerContext) -> Iterator:  # noqa: N802 - gRPC's name
        self.requests.append(next(requests))
        if self.refuses is not None:
            context.abort(self.refuses, "no such path")
        for notification in self.notifications:
            yield gnmi_pb2.SubscribeResponse(update=notification)
        yield gnmi_pb2.SubscribeResponse(sync_response=True)
        if not self.ends:
            self.over.wait(30.0)


def notification(t_ns: int, prefix: list, updates: list[tuple[list, object]]) -> gnmi_pb2.Notification:
    """``prefix`` and paths: (name, keys) steps; values are numbers or JSON."""
    sent = [gnmi_pb2.Update(path=path(steps), val=typed(value)) for steps, value in updates]
    return gnmi_pb2.Notification(timestamp=t_ns, prefix=path(prefix), update=sent)


def path(steps: list) -> gnmi_pb2.Path:
    return gnmi_pb2.Path(elem=[gnmi_pb2.PathElem(name=name, key=keys) for name, keys in steps])


def typed(value: object) -> gnmi_pb2.TypedValue:
    if isinstance(value, int):
        return gnmi_pb2.TypedValue(uint_val=value)
    return gnmi_pb2.TypedValue(json_ietf_val=str(value).encode())
