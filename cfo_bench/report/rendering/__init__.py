"""The appearance of a report: the style of figures, tables as files, the HTML page and its interactive
curves.
"""
