"""One run: its job, the loop of ask, evaluate and tell, its process, and the supervisor beside it."""
