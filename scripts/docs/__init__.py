"""What `make docs` needs besides mkdocs and its plug-ins, and the pictures of the pages.

hooks           called by mkdocs: adds the pages below
suite_keys      every key of a suite file, from the settings
trace_keys      every key of a trace, from its JSON Schema
registries      every method and learner with its options, from the registries
markdown        tables and headings
cfo_figure      docs/images/cfo.svg: CFO and random search on a landscape of two hyperparameters
terminal        docs/images/terminal.svg: what commands print, as a picture
evidence        docs/evidence/: tables and figures of the studies, from their archives
performance     the figures of `make bench` in docs/performance.md
"""
