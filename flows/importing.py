"""Prefect is imported by one thread at a time.

Its packages import one another in circles. Two threads that begin at different ends of such a
circle find half-made modules, and Prefect prints that its plugins cannot be initialized.
"""

import threading

__all__ = ["PREFECT"]

PREFECT = threading.RLock()
"""Held by a thread that may be the first to import something of Prefect."""
