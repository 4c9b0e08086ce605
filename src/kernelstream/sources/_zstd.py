"""Zstandard with a checksum, which pyarrow reads but does not write.

A frame (RFC 8878) says in its fifth byte whether four bytes of XXH64 over the content follow it. pyarrow's compressor
says no; here the byte is changed on its way, and the sum put behind the frame.
"""

from typing import Any

import numpy as np

from ..numerics.compile import compiled

_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_MASK = 2**64 - 1
_STRIPE = 32
_DESCRIPTOR, _HAS_CHECKSUM = 4, 0x04
u8 = np.uint64
_M1, _M2, _LEFT, _RIGHT = u8(_P1), u8(_P2), u8(31), u8(33)


class ChecksummedZstd:
    """A file to write into; what it is made of goes compressed to another one, which stays open."""

    def __init__(self, file: Any):
        import pyarrow as pa

        self._file, self._sum = file, XXH64()
        self._stream = pa.CompressedOutputStream(_Frame(file), "zstd")
        self.closed = False

    def write(self, data: Any) -> int:
        self._sum.update(data)
        self._stream.write(data)
        return memoryview(data).nbytes

    def flush(self) -> None:
        """Nothing: what is compressed is complete at the end."""

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._stream.close()
            self._file.write((self._sum.value() & (2**32 - 1)).to_bytes(4, "little"))

    def __enter__(self) -> "ChecksummedZstd":
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.close()


class _Frame:
    """Where the compressor writes; the frame's head says that a checksum will follow."""

    closed = False

    def __init__(self, file: Any):
        self._file, self._written = file, 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytearray(data)
        at = _DESCRIPTOR - self._written
        if 0 <= at < len(piece):
            piece[at] |= _HAS_CHECKSUM
        self._written += len(piece)
        self._file.write(piece)
        return len(piece)

    def flush(self) -> None:
        """As above."""

    def close(self) -> None:
        """The file is its opener's to close."""


class XXH64:
    """The 64-bit hash of Collet's xxHash with seed 0, over bytes that come in pieces."""

    def __init__(self) -> None:
        self._lanes = np.array([(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK], u8)
        self._rest, self._length = b"", 0

    def update(self, data: Any) -> None:
        piece = self._rest + bytes(data)
        self._length += len(piece) - len(self._rest)
        whole = len(piece) - len(piece) % _STRIPE
        if whole > 0:
            _take_stripes(self._lanes, np.frombuffer(piece[:whole], "<u8").astype(u8, copy=False).reshape(-1, 4))
        self._rest = piece[whole:]

    def value(self) -> int:
        if self._length < _STRIPE:
            total = _P5
        else:
            lanes = self._lanes.tolist()
            total = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
            for lane in lanes:
                total = ((total ^ _round(0, lane)) * _P1 + _P4) & _MASK
        total = (total + self._length) & _MASK
        rest = self._rest
        while len(rest) >= 8:
            total = (_rotated(total ^ _round(0, int.from_bytes(rest[:8], "little")), 27) * _P1 + _P4) & _MASK
            rest = rest[8:]
        if len(rest) >= 4:
            total = (_rotated(total ^ (int.from_bytes(rest[:4], "little") * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
            rest = rest[4:]
        for byte in rest:
            total = _rotated(total ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
        total = (total ^ (total >> 33)) * _P2 & _MASK
        total = (total ^ (total >> 29)) * _P3 & _MASK
        return total ^ (total >> 32)


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) & _MASK


def _round(lane: int, word: int) -> int:
    return _rotated((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


@compiled
def _take_stripes(lanes, words):
    """`_round` of each lane with its words, one stripe of four after another; ufuncs wrap around without a warning."""
    for i in range(words.shape[0]):
        for j in range(4):
            word = np.add(lanes[j], np.multiply(words[i, j], _M2))
            word = np.bitwise_or(np.left_shift(word, _LEFT), np.right_shift(word, _RIGHT))
            lanes[j] = np.multiply(word, _M1)
