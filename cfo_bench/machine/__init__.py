"""The machine and its processes: cores and memory, their limits, how busy it is, signals, subprocesses."""

from __future__ import annotations

from cfo_bench.machine.facts import cores, provenance, total_memory_mb

__all__ = ["cores", "provenance", "total_memory_mb"]
