"""Engines, and the processes they run in."""
