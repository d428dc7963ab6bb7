"""A collector on loopback: takes OTLP over HTTP and decodes it with the published protobuf messages."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Collector(ThreadingHTTPServer):
    """What came, decoded; `hangs` keeps requests without an answer until it is set free."""

    daemon_threads = True

    def __init__(self, hangs: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hangs, self.free = hangs, threading.Event()
        self.bodies: list[tuple[str, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def resource(self) -> dict[str, Any]:
        """The attributes of the sender."""
        return _plain(self._requests("/v1/traces")[0].resource_spans[0].resource.attributes)

    @property
    def spans(self) -> list[Any]:
        """All spans, in the order of their beginnings."""
        found = [
            span
            for request in self._requests("/v1/traces")
            for one in request.resource_spans
            for scope in one.scope_spans
            for span in scope.spans
        ]
        return sorted(found, key=lambda span: span.start_time_unix_nano)

    @property
    def metrics(self) -> dict[str, Any]:
        """The newest state of each metric, by name."""
        return {
            metric.name: metric
            for request in self._requests("/v1/metrics")
            for one in request.resource_metrics
            for scope in one.scope_metrics
            for metric in scope.metrics
        }

    def _requests(self, path: str) -> list[Any]:
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        kind = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}[path]
        return [kind.FromString(body) for at, body in self.bodies if at == path]


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.hangs:
            self.server.free.wait()
        self.server.bodies.append(
            (self.path, gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def collector(hangs: bool = False) -> Iterator[Collector]:
    """A collector that runs."""
    with Collector(hangs) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.free.set()
        server.shutdown()
        thread.join()


def attributes(span: Any) -> dict[str, Any]:
    """The attributes of a span or a data point."""
    return _plain(span.attributes)


def _plain(pairs: Any) -> dict[str, Any]:
    def value(one: Any) -> Any:
        kind = one.WhichOneof("value")
        return [value(each) for each in one.array_value.values] if kind == "array_value" else getattr(one, kind)

    return {pair.key: value(pair.value) for pair in pairs}
