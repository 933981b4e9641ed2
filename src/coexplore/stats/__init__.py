"""Means with their intervals, from numbers alone."""
