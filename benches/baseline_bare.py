"""The least that speaks the book: hibari in a loop on one thread; the sound is thrown away.

`python baseline_bare.py texts.json` prints the seconds of audio it made.
"""

import json
import sys
from pathlib import Path

from hibari import Hibari

book = json.loads(Path(sys.argv[1]).read_text("utf-8"))
voice = Hibari("heart", threads=1)
n_samples = sum(
    len(voice(text, seed=7)) for chapter in book["chapters"] for text in chapter["spoken"]
)
print(json.dumps({"audio_s": n_samples / voice.sample_rate}))
