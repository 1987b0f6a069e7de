"""Where data comes from: one source a file. Only the other modules of `tasks/` call these.

files, folder, bundled, synthetic, plugins   data that needs no network
openml, pmlb                                 through their packages, imported only to fetch; with their caches
origins, unavailable                         names such as `openml:3`; what happens when a source fails
"""
