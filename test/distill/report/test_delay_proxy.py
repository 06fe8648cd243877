"""The simulated network: nothing lost, nothing reordered, nothing early."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from prism_distill.report.delay_proxy import delay_proxy


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that sends back what it gets, and ends when its peer does."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(4096):
                connection.sendall(data)

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield server.getsockname()[1]
    server.close()


def exchange(port: int, data: bytes) -> bytes:
    """Send everything, say that it is the end, and read to the end."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        sender = threading.Thread(
            target=lambda: (connection.sendall(data), connection.shutdown(socket.SHUT_WR))
        )
        sender.start()
        received = b""
        while piece := connection.recv(65536):
            received += piece
        sender.join()
    return received


def test_everything_arrives_in_order(echo: int) -> None:
    data = random.Random(1).randbytes(2_000_000)
    with delay_proxy("127.0.0.1", echo, round_trip_s=0.01) as port:
        assert exchange(port, data) == data
        assert exchange(port, b"") == b""


def test_a_question_takes_a_round_trip_and_the_first_one_more(echo: int) -> None:
    round_trip_s = 0.1
    with (
        delay_proxy("127.0.0.1", echo, round_trip_s=round_trip_s) as port,
        socket.create_connection(("127.0.0.1", port), timeout=20) as connection,
    ):
        for least in (2 * round_trip_s, round_trip_s, round_trip_s):
            started = time.monotonic()
            connection.sendall(b"?")
            assert connection.recv(1) == b"?"
            # No machine is too slow for this: it bounds the delay from below alone.
            assert time.monotonic() - started >= 0.95 * least


def test_connections_do_not_hold_each_other_up(echo: int) -> None:
    with delay_proxy("127.0.0.1", echo, round_trip_s=0.02) as port:
        answers: list[bytes] = []
        threads = [
            threading.Thread(target=lambda i=i: answers.append(exchange(port, bytes([i]) * 1000)))
            for i in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(answers) == [bytes([i]) * 1000 for i in range(8)]


def test_an_endpoint_that_is_not_there_hangs_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        nobody = probe.getsockname()[1]
    with (
        delay_proxy("127.0.0.1", nobody, round_trip_s=0.01) as port,
        socket.create_connection(("127.0.0.1", port), timeout=20) as connection,
        contextlib.suppress(ConnectionResetError),
    ):
        assert connection.recv(1) == b""


def test_leaving_the_block_closes_open_connections(echo: int) -> None:
    with delay_proxy("127.0.0.1", echo, round_trip_s=0.01) as port:
        connection = socket.create_connection(("127.0.0.1", port), timeout=20)
        connection.sendall(b"?")
        assert connection.recv(1) == b"?"
    with connection, contextlib.suppress(ConnectionResetError):
        assert connection.recv(1) == b""
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
