"""The report: from the traces of a results folder to tables, figures and one HTML page.

`build.py` is the entry point. It takes four steps, each a folder that may import those before it:

reading/     traces → runs; which of them may be compared
numbers/     runs → scores, curves, ranks, speed-ups, tests of significance
rendering/   how tables, figures and the page look
sections/    the questions of the report: their tables, and the figures that are drawn from these

`contents.py` has the types that sections are made of, `method_styles.py` the colour and order of the methods,
`output.py` the folder of the report and the drawing of its figures. Only `results/` reads traces.
"""
