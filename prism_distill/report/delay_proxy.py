"""A network in between: a TCP proxy that holds every byte back for half a round trip, each way.

What the paper does to a real link with Linux traffic control (section 4.3), without its privileges.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_CHUNK = 1 << 16
_MOST_CHUNKS = 256
"""Chunks on their way in one direction; a sender that is faster than its reader has to wait, as on a link."""
_PATIENCE_S = 10.0


@contextmanager
def delay_proxy(host: str, port: int, *, round_trip_s: float) -> Iterator[int]:
    """Listen on this machine as long as the block runs; gives the port. Connections to it reach host:port,
    delayed, and opening one costs a round trip, as TCP's handshake does.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="prism-delay-proxy", daemon=True)
    thread.start()
    proxy = _Proxy(host, port, round_trip_s)
    try:
        yield asyncio.run_coroutine_threadsafe(proxy.start(), loop).result(_PATIENCE_S)
    finally:
        asyncio.run_coroutine_threadsafe(proxy.stop(), loop).result(_PATIENCE_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class _Proxy:
    def __init__(self, host: str, port: int, round_trip_s: float) -> None:
        self._host, self._port = host, port
        self._round_trip_s = round_trip_s
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            try:
                await self._connect(reader, writer)
            finally:
                writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        established = asyncio.get_running_loop().time() + self._round_trip_s
        far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        one_way = self._round_trip_s / 2
        try:
            await asyncio.gather(
                _forward(reader, far_writer, one_way, not_before=established),
                _forward(far_reader, writer, one_way, not_before=established),
            )
        finally:
            far_writer.close()


async def _forward(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float, *, not_before: float
) -> None:
    """Pass on what arrives, in order, each piece `delay_s` after it came; then the end of the stream."""
    clock = asyncio.get_running_loop().time
    travelling: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_MOST_CHUNKS)

    async def send() -> None:
        data = b"-"
        while data:
            data = await reader.read(_CHUNK)
            await travelling.put((max(clock(), not_before) + delay_s, data))

    sender = asyncio.create_task(send())
    try:
        while True:
            due, data = await travelling.get()
            await asyncio.sleep(due - clock())
            if not data:
                break
            writer.write(data)
            await writer.drain()
        await sender
        if writer.can_write_eof():
            writer.write_eof()
    finally:
        sender.cancel()
