"""From runs to numbers: scores, curves, ranks, speed-ups and tests. Nothing here draws or writes."""
