"""Methods compared on one's own data in a given time: what is run, and what it comes to."""
