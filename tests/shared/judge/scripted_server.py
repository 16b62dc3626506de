"""A local HTTP server for tests: it answers each POST with the next reply of a script."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One answer of the server.

    ``body`` is sent as it is when bytes, as JSON otherwise. ``missing`` bytes are announced but not sent.
    ``delay_s`` passes before the first byte. ``reset``: the connection is reset instead of any answer.
    """

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0
    delay_s: float = 0.0
    reset: bool = False


@dataclass(frozen=True)
class Call:
    """What the server was sent; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class ScriptedServer(ThreadingHTTPServer):
    """Holds the script and the calls seen; a call beyond the script gets status 599."""

    daemon_threads = True

    def __init__(self, replies: Iterable[Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls: list[Call] = []
        self._replies = iter(replies)
        self._lock = threading.Lock()
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def next_reply(self, call: Call) -> Reply:
        with self._lock:
            self.calls.append(call)
            return next(self._replies, Reply({"error": {"message": "the script is over"}}, status=599))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedServer

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.next_reply(Call(self.path, headers, json.loads(sent)))
        if self.server.closing.wait(reply.delay_s):
            self.close_connection = True
        elif reply.reset:
            self._reset()
        else:
            self._send(reply)

    def _send(self, reply: Reply) -> None:
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"content-type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body) + reply.missing))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = bool(reply.missing)

    def _reset(self) -> None:
        # Lingering for 0 s makes close() send a reset in place of an orderly end.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""


@contextmanager
def scripted_server(*replies: Reply) -> Iterator[ScriptedServer]:
    """A running server on a free loopback port, stopped at the end."""
    server = ScriptedServer(replies)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


def chat(content: str | None = "yes", *, model: str = "judge", **changes: Any) -> dict[str, Any]:
    """A chat completion as a server sends it; ``changes`` replace its top-level fields."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 3}}
    return {"object": "chat.completion", "model": model, "choices": [choice], "usage": usage} | changes
