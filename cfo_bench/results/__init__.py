"""Records on disk: traces, the results folder that holds them, and what can be said of it as a whole."""
