"""Write a tiny, complete package of sanoTTS Root A; the same bytes each time.

    python tests/bundle/sanotts_package.py OUT [--random] [--language de_DE --espeak-voice de]

Layout and manifest are those of the sanoTTS specification, section 1, the sizes those of section 8.
The voice is a chord whose pitch and length follow the phonemes; these are the letters unless an
espeak voice is named, so that no phonemiser is needed. Not named after its family: the reference
package is.
"""

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sanotts_students import Tensors, random_students, singing_students

from loudr_core.speech.json_values import Section
from loudr_core.speech.sanotts.configs import read_acoustic, read_decoder, read_duration

__all__ = [
    "CONFIG_NAME",
    "QUOTE_ID",
    "REMOVED",
    "SYMBOLS",
    "WEIGHTS_NAME",
    "change_manifest",
    "configs",
    "phoneme_config",
    "rehash",
    "write_package",
]

WEIGHTS_NAME = "weights.fp16.bin"
CONFIG_NAME = "piper-phoneme-config.json"


class _Sign(Enum):
    """Looks the same in every process, as the names of tests must."""

    REMOVED = "removed"


REMOVED = _Sign.REMOVED
"""As a value in `changes`: the key is left out."""

_LETTERS = "abcdefghijklmnopqrstuvwxyzæçðøħŋœßɐɑɒɓɔɕɖəɚɛɜɟɡɣɨɪɫɬɭɯɲɹɾʀʁʂʃʉʊʌʏʒʔʲθχβᵻ"
_SIGNS = " !'(),-.:;?ˈˌː\u0303\u0308\u0329\u030a\u0327"
SYMBOLS = {symbol: number for number, symbol in enumerate(["_", "^", "$", *_SIGNS, *_LETTERS])}
"""Phonemes of the stand-in voice."""
QUOTE_ID = 150
"""Of the quotation mark, which no student was taught."""


def configs(
    *,
    singing: bool = True,
    vocabulary: int | None = None,
    duration_vocabulary: int | None = None,
    branches: Sequence[Sequence[int]] = ((0, 1, 2),) * 3,
    scale_mode: str = "kept",
    post_filter: int = 0,
    adapter: str = "",
) -> dict[str, dict[str, Any]]:
    """Return the configurations of the three students, as a manifest holds them.

    Parameters
    ----------
    singing : bool
        Sizes of the singing voice, else those of the specification's section 8.
    vocabulary, duration_vocabulary : int, optional
        Ids that both students know, and how many the duration student does.
    branches : three sequences of int
        Kept at each stage.
    scale_mode : str
        `kept` or `teacher`.
    post_filter : int
        Channels; 0 for none.
    adapter : str
        Mode of a calibrated student's adapter; empty for none.
    """
    size = vocabulary if vocabulary is not None else len(SYMBOLS) if singing else 20
    latent = 16 if singing else 24
    duration = {
        "architecture": "duration_conv",
        "vocab_size": duration_vocabulary or size,
        "hidden": 8,
        "depth": 1,
        "kernel_size": 5,
        "max_tokens": 759,
        "max_duration": 80,
        "pause_token_ids": [4, 8],
    }
    acoustic: dict[str, Any] = {
        "architecture": "token_context",
        "vocab_size": size,
        "hidden": 8,
        "depth": 1,
        "kernel_size": 5,
        "out_channels": latent,
        "token_depth": 1,
    }
    if adapter:
        correction = {"mode": adapter, "kernel_size": 3, "rank": 2}
        correction |= {"start_channel": 4, "end_channel": 20}
        acoustic = {
            "architecture": "calibrated",
            "base_config": acoustic,
            "output_adapter": correction,
        }
    decoder = {
        "in_channels": latent,
        "channels": [8, 16, 16, 8] if singing else [16, 8, 4, 2],
        "res_layers": 1,
        "variant": "piperlite",
        "rank_ratio": 0.5,
        "activation": "leaky_relu",
        "stage_affine": False,
        "factorized_pre_rank": 0,
        "piper_res_factor_rank_ratio": 0.0,
        "res_bank_scale_mode": scale_mode,
        **{f"stage{stage}_branches": list(kept) for stage, kept in enumerate(branches)},
        "post_filter_channels": post_filter,
        "post_filter_layers": 2 if post_filter else 0,
        "post_filter_kernel": 9,
        "post_filter_scale": 0.25,
        "pre_tanh_repair_channels": 0,
    }
    return {"duration": duration, "acoustic": acoustic, "decoder": decoder}


def phoneme_config(
    *, phoneme_type: str | None = "text", espeak_voice: str = "en-us"
) -> dict[str, Any]:
    """Return a phoneme configuration with every phoneme, and a quotation mark beyond them."""
    ids: dict[str, Any] = {symbol: [number] for symbol, number in SYMBOLS.items()}
    config: dict[str, Any] = {
        "espeak": {"voice": espeak_voice},
        "num_symbols": 256,
        "phoneme_id_map": {**ids, '"': [QUOTE_ID]},
    }
    return config if phoneme_type is None else {"phoneme_type": phoneme_type, **config}


def write_package(
    folder: Path,
    *,
    singing: bool = True,
    seed: int = 1,
    language: str = "en_US",
    voice: str = "wren",
    phonemes: Mapping[str, Any] | None = None,
    components: Mapping[str, dict[str, Any]] | None = None,
    dtype: str = "float16",
    scalar: Sequence[int] = (1,),
    length_scale: float = 1.0,
    changes: Mapping[str, Any] | None = None,
) -> Path:
    """Write a package into a folder and return the folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    singing : bool
        Whether the voice sings; else its tensors are random.
    seed : int
        Of the tensors.
    language, voice : str
        As the manifest has them.
    phonemes : mapping, optional
        As `phoneme_config` makes it.
    components : mapping, optional
        As `configs` makes it.
    dtype : str
        Of all tensors: `float16`, `float32`.
    scalar : sequence of int
        How the shape of a scalar is written: `[1]` or `[]`.
    length_scale : float
        Pace.
    changes : mapping, optional
        Keys of the manifest that replace those of the package; `REMOVED` leaves one out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = dict(components or configs(singing=singing))
    tensors = _tensors(made, singing=singing, seed=seed)
    blob, listed = _blob(tensors, dtype=dtype, scalar=list(scalar))
    (folder / WEIGHTS_NAME).write_bytes(blob)
    manifest: dict[str, Any] = {
        "format": "roota.raw-fp16.v1",
        "package_name": f"{voice}-stand-in",
        "voice": voice,
        "language": language,
        "sample_rate": 22050,
        "hop_length": 256,
        "inference": {"duration_length_scale": length_scale},
        "weights_file": WEIGHTS_NAME,
        "weights_size_bytes": len(blob),
        "weights_sha256": hashlib.sha256(blob).hexdigest(),
        "total_parameters": sum(a.size for group in tensors.values() for a in group.values()),
        "frontend": {"included_config": CONFIG_NAME},
        "components": {
            name: {
                "config": made[name],
                "parameters": sum(array.size for array in tensors[name].values()),
                "tensors": listed[name],
            }
            for name in made
        },
    }
    manifest |= dict(changes or {})
    manifest = {key: value for key, value in manifest.items() if value is not REMOVED}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), "utf-8")
    text = json.dumps(phonemes or phoneme_config(), ensure_ascii=False, indent=1)
    (folder / CONFIG_NAME).write_text(text, "utf-8")
    (folder / "README.md").write_text("A stand-in voice, made for tests.\n", "utf-8")
    return folder


def change_manifest(folder: Path, change: Any) -> None:
    """Have a function change a package's manifest in place."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest, indent=1), "utf-8")


def rehash(folder: Path) -> None:
    """Make the manifest's size and digest those of the weights as they are now."""
    blob = (folder / WEIGHTS_NAME).read_bytes()
    fields = {"weights_size_bytes": len(blob), "weights_sha256": hashlib.sha256(blob).hexdigest()}
    change_manifest(folder, lambda manifest: manifest.update(fields))


def _tensors(
    components: Mapping[str, dict[str, Any]], *, singing: bool, seed: int
) -> dict[str, Tensors]:
    duration = read_duration(Section(components["duration"]))
    acoustic = read_acoustic(Section(components["acoustic"]))
    decoder = read_decoder(Section(components["decoder"]))
    rng = np.random.default_rng([seed, singing])
    if singing:
        return singing_students(rng, duration, acoustic, decoder, SYMBOLS)
    return random_students(rng, duration, acoustic, decoder)


def _blob(
    tensors: Mapping[str, Tensors], *, dtype: str, scalar: list[int]
) -> tuple[bytes, dict[str, list[dict[str, Any]]]]:
    blob = bytearray()
    listed: dict[str, list[dict[str, Any]]] = {}
    for component, group in tensors.items():
        listed[component] = []
        for name, array in group.items():
            raw = _raw(array, dtype)
            entry = {
                "name": name,
                "shape": list(array.shape) if array.ndim else scalar,
                "dtype": dtype,
                "offset_bytes": len(blob),
                "nbytes": len(raw),
                "sha256": hashlib.sha256(raw).hexdigest(),
            }
            listed[component].append(entry)
            blob += raw
    return bytes(blob), listed


def _raw(array: NDArray[np.float32], dtype: str) -> bytes:
    return array.astype(np.dtype(dtype).newbyteorder("<")).tobytes()


def _main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--language", default="en_US")
    parser.add_argument("--espeak-voice", default="")
    asked = parser.parse_args()
    kind = "espeak" if asked.espeak_voice else "text"
    phonemes = phoneme_config(phoneme_type=kind, espeak_voice=asked.espeak_voice or "en-us")
    write_package(asked.out, singing=not asked.random, language=asked.language, phonemes=phonemes)


if __name__ == "__main__":
    _main()
