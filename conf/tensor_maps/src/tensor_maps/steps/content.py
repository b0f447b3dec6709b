"""Tell by a few digits whether the values of a tensor or an array are others."""

from __future__ import annotations

import ctypes
import zlib
from typing import Any

import torch

from tensor_maps.reading import is_array, readable, tried

# What is larger is read in samples; of what is not in order in memory, so much is
# copied; of what is on another device, so much is fetched.
MOST_READ_BYTES, MOST_COPIED_BYTES, MOST_FETCHED_BYTES = 2**22, 2**20, 2**12
SAMPLES, SAMPLE_BYTES = 256, 256
MOST_SAMPLED = 2**14


class Reader:
    """Reads values, each stretch of memory once, and counts what was read."""

    def __init__(self) -> None:
        self.read = 0
        self._known: dict[tuple[int, int], str] = {}

    def digest(self, value: Any) -> str | None:
        """Return digits of the values, or None where nothing is read.

        They begin with "~" where the values were read in samples only.
        """
        if is_array(value):
            return tried(lambda: self._array(value))
        data = readable(value)
        return None if data is None else tried(lambda: self._tensor(data))

    def _tensor(self, data: torch.Tensor) -> str | None:
        size = data.numel() * data.element_size()
        if size == 0:
            return "0"
        if data.device.type != "cpu":
            if size > MOST_FETCHED_BYTES:
                return None
            plain = data.cpu().contiguous()
            return _checksum(plain.data_ptr(), size)
        if data.is_contiguous():
            return self.stretch(data.data_ptr(), size)
        # One element for each of those that are one in memory, largest steps first.
        for at, stride in enumerate(data.stride()):
            if stride == 0 and data.shape[at] > 1:
                data = data.narrow(at, 0, 1)
        by_stride = sorted(range(data.dim()), key=data.stride, reverse=True)
        data = data.permute(by_stride)
        size = data.numel() * data.element_size()
        if data.is_contiguous():
            return self.stretch(data.data_ptr(), size)
        mark = ""
        if size > MOST_COPIED_BYTES:
            mark, data = "~", _thinned(data, list(data.shape))
        plain = data.contiguous()
        size = plain.numel() * plain.element_size()
        self.read += 2 * size
        return mark + _checksum(plain.data_ptr(), size)

    def _array(self, array: Any) -> str:
        if array.nbytes == 0:
            return "0"
        if array.flags.c_contiguous or array.flags.f_contiguous:
            address = array.__array_interface__["data"][0]
            return self.stretch(address, array.nbytes)
        plain = array.view(type=_plain_type(array))
        cut = tuple(slice(0, 1) if step == 0 else slice(None) for step in plain.strides)
        plain, mark = plain[cut], ""
        if plain.nbytes > MOST_COPIED_BYTES:
            mark, plain = "~", _thinned(plain, list(plain.shape))
        self.read += 2 * plain.nbytes
        return f"{mark}{zlib.crc32(plain.tobytes()):08x}"

    def stretch(self, address: int, size: int) -> str:
        """Return the digits of a stretch of memory."""
        known = self._known.get((address, size))
        if known is None:
            if size <= MOST_READ_BYTES:
                self.read += size
                known = _checksum(address, size)
            else:
                self.read += SAMPLES * SAMPLE_BYTES
                known = f"~{_sampled(address, size):08x}"
            self._known[address, size] = known
        return known


def _plain_type(array: Any) -> type:
    """Return ``numpy.ndarray``, of which slices are what they look like."""
    return next(kind for kind in type(array).__mro__ if kind.__module__ == "numpy"
                and kind.__name__ == "ndarray")  # fmt: skip


def _checksum(address: int, size: int) -> str:
    return f"{zlib.crc32((ctypes.c_char * size).from_address(address)):08x}"


def _sampled(address: int, size: int) -> int:
    """Return a checksum of short stretches, spread evenly from first to last byte."""
    found = 0
    last = size - SAMPLE_BYTES
    for at in range(SAMPLES):
        start = address + last * at // (SAMPLES - 1)
        found = zlib.crc32(ctypes.string_at(start, SAMPLE_BYTES), found)
    return found


def _thinned(data: Any, shape: list[int]) -> Any:
    """Return some of the elements, evenly spread over each dimension."""
    steps = [1] * len(shape)
    count = 1
    for length in shape:
        count *= length
    while count > MOST_SAMPLED:
        at = max(range(len(shape)), key=lambda n: shape[n] // steps[n])
        before = -(-shape[at] // steps[at])
        steps[at] *= 2
        count = count // before * -(-shape[at] // steps[at])
    return data[tuple(slice(None, None, step) for step in steps)]
