"""What is under a run: the machine's cores and memory, its limits, how busy it is, and signals."""

from __future__ import annotations

from cfo_bench.machine.facts import cores, provenance, total_memory_mb

__all__ = ["cores", "provenance", "total_memory_mb"]
