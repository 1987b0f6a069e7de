"""The report: from the traces of a results folder to tables, figures and one HTML page.

`build.py` is the way in. It goes through four steps, each a folder that may import those before it:

reading/     traces → digests, small records of what a run did; which of them may be compared
numbers/     digests → scores, curves, ranks, speed-ups, tests of significance
rendering/   how tables, figures and the page look
sections/    one question of the report a file: its tables, and the figures that are drawn from them

`contents.py` has the types that sections are made of, `looks.py` the colour and place of each method.
Only the command line calls this room; it imports `results/` to read traces.
"""
