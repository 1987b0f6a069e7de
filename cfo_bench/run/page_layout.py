"""Where everything stands on a live page, and in which form."""

from __future__ import annotations

import struct

# At the top: magic, turn of the slots, zero of the clock, number of trials, best loss. The last slot
# that was written is number `turn % 2`.
HEAD = struct.Struct("<8sqdqd")
MAGIC = b"cfolive7"
TURN, ZERO, TALLY = struct.Struct("<q"), struct.Struct("<d"), struct.Struct("<qd")
TURN_AT, ZERO_AT, TALLY_AT = 8, 16, 24
# What the method is doing: nothing, an ask or a tell; and since when, in seconds of the run's clock.
CALL, CALL_AT = struct.Struct("<qd"), 40
NO_CALL, ASK, TELL = 0, 1, 2
# The result of the only trial in a slot: loss, score, ended, fit and validate seconds, peak memory. Last
# comes the turn of that slot, which makes the result valid.
RESULT, RESULT_AT = struct.Struct("<6dq"), 64
# A slot: the length of its content, and the trials under way as JSON arrays.
LENGTH = struct.Struct("<q")
SLOT_AT, SLOT_SIZE = 128, 128 * 1024
# After the slots: the length of the lines that wait to be written, and the lines.
KEPT_AT = SLOT_AT + 2 * SLOT_SIZE
LINES_AT = KEPT_AT + LENGTH.size
LINES_END = KEPT_AT + 64 * 1024
# Whether the run is prepared; when the supervisor last saw its process running; since when and how long the
# supervisor saw it stopped (0 s: not); and the pauses that were taken off the clock: how many, and each one.
PREPARED, PREPARED_AT = struct.Struct("<q"), LINES_END
SEEN, SEEN_AT = struct.Struct("<d"), LINES_END + 8
NOTED, NOTED_AT = struct.Struct("<dd"), LINES_END + 16
PAUSES, PAUSE, PAUSES_AT, MOST_PAUSES = struct.Struct("<q"), struct.Struct("<dd"), LINES_END + 32, 32
SIZE = PAUSES_AT + PAUSES.size + MOST_PAUSES * PAUSE.size
