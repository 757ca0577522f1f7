"""From folded text to segments of spoken words, with a proof that nothing was lost."""

from loudr_core.text.version import TEXT_VERSION

__all__ = ["TEXT_VERSION"]
