"""The audiobook script that one would write in an afternoon: hibari, a WAV, and ffmpeg.

    python baseline_script.py texts.json book.m4b

Every text is spoken in order with a pause after it; the WAV goes through ffmpeg's loudnorm twice,
to measure and to apply, and is encoded as AAC with the chapters. hibari runs as its
documentation shows it, with its default of one thread; ffmpeg may use every core it is given.
"""

import json
import re
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

import numpy as np
from hibari import Hibari

PAUSE_S = 0.5
LOUDNESS = "loudnorm=I=-19:TP=-3:LRA=20"


def speak(book: dict, wav: Path) -> list[tuple[str, float, float]]:
    """Write the whole book as one WAV; return title, start and end of each chapter in seconds."""
    voice = Hibari("heart")
    rate = voice.sample_rate
    pause = np.zeros(round(PAUSE_S * rate), np.int16)
    chapters, written = [], 0
    with wave.open(str(wav), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        for chapter in book["chapters"]:
            start = written
            for text in chapter["spoken"]:
                samples = voice(text, seed=7)
                pcm = (np.clip(samples, -1, 1) * 32767).astype(np.int16)
                for piece in (pcm, pause):
                    out.writeframes(piece.tobytes())
                    written += len(piece)
            chapters.append((chapter["title"], start / rate, written / rate))
    return chapters


def measured(wav: Path) -> str:
    """Return loudnorm's arguments with what its first pass measured."""
    done = subprocess.run(
        ["ffmpeg", "-hide_banner", "-i", str(wav), "-af", f"{LOUDNESS}:print_format=json",
         "-f", "null", "-"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(re.findall(r"\{[^{}]+\}", done.stderr)[-1])
    return (
        f"{LOUDNESS}:linear=true:measured_I={found['input_i']}:measured_TP={found['input_tp']}"
        f":measured_LRA={found['input_lra']}:measured_thresh={found['input_thresh']}"
        f":offset={found['target_offset']}"
    )


def chapter_file(title: str, chapters: list[tuple[str, float, float]]) -> str:
    """Return the chapters in ffmpeg's metadata format."""
    lines = [";FFMETADATA1", f"title={title}"]
    for name, start, end in chapters:
        lines += ["[CHAPTER]", "TIMEBASE=1/1000", f"START={round(start * 1000)}",
                  f"END={round(end * 1000)}", f"title={name}"]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    """Make the book."""
    book = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        wav, marks = Path(folder) / "book.wav", Path(folder) / "chapters.txt"
        chapters = speak(book, wav)
        marks.write_text(chapter_file(book["title"], chapters), "utf-8")
        subprocess.run(
            ["ffmpeg", "-y", "-loglevel", "error", "-i", str(wav), "-i", str(marks),
             "-map_metadata", "1", "-map", "0:a", "-af", measured(wav), "-ar", "24000",
             "-c:a", "aac", "-b:a", "80k", "-movflags", "+faststart", sys.argv[2]],
            check=True,
        )  # fmt: skip
    print(json.dumps({"audio_s": chapters[-1][2]}))


if __name__ == "__main__":
    main()
