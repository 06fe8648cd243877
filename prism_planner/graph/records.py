"""Framing of records in an append-only file, so that a torn or damaged one is always noticed.

A file is `FILE_HEADER` and then records: magic, payload length, CRC-32, revision (little endian:
4 bytes, u32, u32, u64), payload. The CRC covers length, revision and payload. The payload is text, in
which the bytes of a record's header cannot occur.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

FILE_HEADER = b"PRISM-J1"
MAX_PAYLOAD_BYTES = 2**31

_MAGIC = b"\xabREC"
_HEADER = struct.Struct("<4sIIQ")


@dataclass(frozen=True, slots=True)
class Record:
    """One record and where in its file it starts and ends."""

    start: int
    end: int
    revision: int
    payload: bytes


def encode(revision: int, payload: bytes) -> bytes:
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise ValueError(f"a record holds at most {MAX_PAYLOAD_BYTES} bytes, this one has {len(payload)}")
    return _HEADER.pack(_MAGIC, len(payload), _crc(revision, payload), revision) + payload


def read_record(data: bytes, start: int) -> Record | None:
    """The record that starts at a byte of a file's content; None when no whole, sound one does."""
    if len(data) - start < _HEADER.size:
        return None
    magic, length, crc, revision = _HEADER.unpack_from(data, start)
    body = start + _HEADER.size
    if magic != _MAGIC or length > len(data) - body:
        return None
    payload = data[body : body + length]
    if crc != _crc(revision, payload):
        return None
    return Record(start, body + length, revision, payload)


def read_records(data: bytes) -> Iterator[Record]:
    """The records of a file's content up to its end or the first that is not sound."""
    if not data.startswith(FILE_HEADER):
        return
    start = len(FILE_HEADER)
    while (record := read_record(data, start)) is not None:
        yield record
        start = record.end


def has_record_after(data: bytes, start: int) -> bool:
    """Whether a sound record starts later than `start`: then what is there is damaged, not torn."""
    start = data.find(_MAGIC, start + 1)
    while start >= 0:
        if read_record(data, start) is not None:
            return True
        start = data.find(_MAGIC, start + 1)
    return False


def _crc(revision: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(struct.pack("<IQ", len(payload), revision)))
