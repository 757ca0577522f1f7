"""Which language a voice speaks: tags of packages and names of espeak-ng voices as BCP 47."""

import re
from typing import Final

from loudr_core.findings import Finding
from loudr_core.speech.tags import primary_subtag

__all__ = ["language_of", "primary"]

_TAG: Final = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
_ESPEAK: Final = {"cmn": "zh", "yue": "zh-HK", "en-us": "en-US", "en-gb": "en-GB", "vi": "vi"}
_SAME: Final = {"nb": "no", "nn": "no", "cmn": "zh", "yue": "zh"}


def language_of(written: str, espeak_voice: str) -> tuple[str, tuple[Finding, ...]]:
    """Return a voice's language as a BCP 47 tag, and what is odd about it.

    Parameters
    ----------
    written : str
        As the manifest has it: `de`, `de_DE`. What is no tag, such as a name in words, is not used.
    espeak_voice : str
        Tells the language where the manifest does not.

    Returns
    -------
    str, tuple of Finding
        An empty string where neither tells one.
    """
    tag = written.replace("_", "-")
    tag = tag if _TAG.fullmatch(tag) else ""
    spoken = _ESPEAK.get(espeak_voice, espeak_voice)
    spoken = spoken if _TAG.fullmatch(spoken) else spoken.partition("-")[0]
    spoken = spoken if _TAG.fullmatch(spoken) else ""
    if tag and spoken and primary(tag) != primary(spoken):
        message = (
            f"The manifest says language {written!r}, the phonemes are those of espeak voice "
            f"{espeak_voice!r}; the manifest is believed."
        )
        return tag, (Finding(code="bundle-language", severity="warning", message=message),)
    return tag or spoken, ()


def primary(tag: str) -> str:
    """Return the language of a tag without region; the two written norms of Norwegian are one."""
    language = primary_subtag(tag)
    return _SAME.get(language, language)
