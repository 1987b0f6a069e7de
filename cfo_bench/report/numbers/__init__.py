"""What the digests come to: scores, curves, ranks, speed-ups and tests. Nothing here draws or writes."""
