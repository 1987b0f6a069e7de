"""Learners and methods compared on a user's data in a given time: the plan, the runs and the answer."""
