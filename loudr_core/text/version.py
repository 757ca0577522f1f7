"""The version of this stage's output; hashed into every plan.

Raised whenever the same book would yield other segments or other spoken words, so that a plan made
by older code is never mixed with takes made for newer words.
"""

__all__ = ["TEXT_VERSION"]

TEXT_VERSION = "text-3"
