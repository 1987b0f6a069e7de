"""What the driver of a Dask cluster answers to an attempt on a worker."""

from __future__ import annotations

import zlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """The next bytes of the parcel."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Past:
    """The trace so far, compressed; empty for a run that starts anew."""

    packed: bytes

    @classmethod
    def of(cls, data: bytes) -> Past:
        return cls(zlib.compress(data, level=1))

    def data(self) -> bytes:
        return zlib.decompress(self.packed)


@dataclass(frozen=True, slots=True)
class Again:
    """Lines from this offset on did not arrive."""

    at: int


@dataclass(frozen=True, slots=True)
class Halt:
    """End the run now, as interrupted."""


Answer = Piece | Past | Again | Halt
