"""Traces in, answers out."""
