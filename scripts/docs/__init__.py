"""What `make docs` needs besides mkdocs: the pages that are written from the code, and the pictures.

hooks           called by mkdocs: adds the pages below, and drops entries of the list whose file is absent
command_line    every command and option, from click
suite_keys      every key of a suite file, from the settings
trace_keys      every key of a trace, from its JSON Schema
registries      every method and learner with its options, from the registries
python_api      every public function and class, from signatures, docstrings and comments
markdown        tables and headings
cfo_figure      docs/images/cfo.svg: CFO and random search on a landscape of two hyperparameters
terminal        docs/images/terminal.svg: what commands print, as a picture
"""
