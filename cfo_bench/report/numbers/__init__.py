"""The numbers of the report, computed from runs: scores, curves, ranks, speed-ups and tests. Nothing is drawn
or written here.
"""
