"""The report: tables, figures and an HTML page, made from the traces of a results folder.

`build.py` is the entry point. Its four steps are folders, each of which may import those before it:

reading/     traces → runs; the selection of comparable runs
numbers/     runs → scores, curves, ranks, speed-ups, tests of significance
rendering/   the formats of tables, figures and the page
sections/    the sections: their tables, and the figures that are drawn from these

`contents.py` has the types that sections are made of, `method_styles.py` the colour and order of the methods,
`output.py` the folder of the report and the drawing of its figures. Only `results/` reads traces.
"""
