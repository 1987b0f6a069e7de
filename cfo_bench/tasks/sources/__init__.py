"""Where data comes from: one source a file. Only the other modules of `tasks/` call these.

files, folder, built_in, plugins   data that needs no network
openml, pmlb                       through their packages, imported only to fetch
caches                             the local copies of these two
origins                            names such as `openml:3`, and the error of a source that fails
"""
