"""The sources of data, one per file. `models/script` copies `files.csv_form`.

files, data_folder       a file, or a folder of files with an index
built_in, plugin_tasks   tasks of packages that are installed
openml, pmlb             through their packages, imported only to fetch
caches                   the local copies of OpenML's and PMLB's files
origins                  names such as `openml:3`, and the error of a source that fails
"""

# The formats of data files, by their ending.
DATA_FORMATS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".arff": "arff"}
