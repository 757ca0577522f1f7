"""Finished files: AAC, M4B, the report page."""
