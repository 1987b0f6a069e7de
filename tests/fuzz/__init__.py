"""Damaged and hostile inputs, put through every command that reads them: `make fuzz SECONDS=600`.

`damage` and `texts` make the inputs, each from a seed; `cases` put them into a folder and give the commands,
`foreign` those of imports, surrogates, odd spaces and comparisons;
`checks` say what must hold afterwards; `driver` hands cases to worker processes and watches for hangs.
"""
