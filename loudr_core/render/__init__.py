"""From a plan to a finished book: orders spoken, takes laid out, measured, mastered and written."""
