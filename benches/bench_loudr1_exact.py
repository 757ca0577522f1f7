"""Check that loudr-1 speaks as the reference engine does on a bundle: tokens, mel and samples.

    python benches/bench_loudr1_exact.py --bundle benches/out/loudr-1

Both speak five texts of one to three windows on one thread of the CPU, taking turns in going first:
a short one, one with carried tokens, one that is sped up, one whose seed has 64 bits, a passage.
The line says of each text whether the bytes are equal, and the wall and processor seconds of both
engines. The exit code is 1 when anything differs. Needs `loudkit` (extra `dev`) and a bundle, such
as `make_full_bundle.py` writes.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loudkit.config import ExecutionConfig
from loudkit.engine import Engine
from loudkit.voice import VoiceProfile
from measuring import emit, pin_to_cores

from loudr_core.speech.loudr1.bundle import open_bundle
from loudr_core.speech.loudr1.model import Loudr1

CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("The lamp was lit at dusk.", {"seed": 4242}),
    (
        "Nobody saw the boat go out, and nobody saw it come in.",
        {"seed": 7, "previous_tokens": [4001, 17, 2950, 6012, 333, 1208, 5]},
    ),
    ("In 1886 the tower cost £1,250; Dr. Reeve paid half of it.", {"seed": -5, "speed": 1.25}),
    ("Was that a knock at the door?", {"seed": 2**64 - 3}),
    (
        "The supply boat came on the fourth of May with oil, flour and a letter for the keeper. "
        "He read it twice by the window, folded it small, and put it in the stove. "
        "Then he went up to trim the wick, as on any other night.",
        {"seed": 1234},
    ),
)


def timed(speak: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what a call gives, with its wall and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = speak()
    spent = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    return result, {name: round(value, 2) for name, value in spent.items()}


def compared(ours: Any, theirs: Any) -> dict[str, bool]:
    """Return for tokens, mel and audio whether they are equal to the byte."""
    return {
        "tokens": list(ours.tokens) == [int(token) for token in theirs.tokens],
        "mel": ours.mel.shape == theirs.mel.shape and ours.mel.tobytes() == theirs.mel.tobytes(),
        "audio": ours.audio.dtype == theirs.audio.dtype
        and ours.audio.tobytes() == theirs.audio.tobytes(),
    }


def main() -> None:
    """Speak the texts with both engines and print the line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--voice", default=None, help="default: the first of the bundle")
    parser.add_argument("--cores", type=int, default=1)
    asked = parser.parse_args()
    pin_to_cores(asked.cores)
    bundle = open_bundle(asked.bundle)
    name = asked.voice or bundle.voice_names()[0]
    engine = Loudr1(bundle, text_funnel="loudkit")
    reference = Engine.from_checkpoint(
        str(bundle.checkpoint),
        device="onnx",
        execution=ExecutionConfig(num_threads=1, onnx_provider="cpu"),
    )
    voice = bundle.voice(name)
    their_voice = VoiceProfile.load(str(bundle.folder / "voices" / f"{name}.safetensors"))
    rows = []
    for place, (text, options) in enumerate(CASES):
        sides = {
            "loudr": lambda t=text, o=options: engine.synthesize(t, voice, **o),
            "loudkit": lambda t=text, o=options: reference.synthesize(t, their_voice, **o),
        }
        order = sorted(sides, reverse=bool(place % 2))
        results = {side: timed(sides[side]) for side in order}
        ours, theirs = results["loudr"][0], results["loudkit"][0]
        facts = {"characters": len(text), "windows": len(ours.windows), "tokens": len(ours.tokens)}
        audio_s = round(len(ours.audio) / 24_000, 2)
        spent = {side: seconds for side, (_, seconds) in results.items()}
        rows.append({**facts, "audio_s": audio_s, "equal": compared(ours, theirs), **spent})
    equal = all(all(row["equal"].values()) for row in rows)
    emit(
        "loudr1_exact",
        bundle=bundle.manifest.get("name"),
        fingerprint=bundle.fingerprint,
        voice=name,
        equal=equal,
        texts=rows,
    )
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
