"""One run: its job, the loop of ask, evaluate and tell, the process of the run, and its supervisor."""
