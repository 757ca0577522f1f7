"""The official fixtures of the reference engine, as far as they need no weights of a release.

`test_loudr1_fixtures_detectors.py` has those of the detectors, `test_loudr1_fixtures_weights.py`
those that a real bundle answers, and docs/LOUDR1.md says of each file which is which.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from loudr_core.speech.loudr1.algorithm import Algorithm, Chunking, Sampling
from loudr_core.speech.loudr1.carry import carry, strip_specials
from loudr_core.speech.loudr1.chunking import split_in_half, split_text
from loudr_core.speech.loudr1.fade import fade_edges
from loudr_core.speech.loudr1.fingerprint import algorithm_fingerprint, canonical_form
from loudr_core.speech.loudr1.funnel import open_funnel
from loudr_core.speech.loudr1.manifest import algorithm_from_manifest
from loudr_core.speech.loudr1.noise import gumbel_at
from loudr_core.speech.loudr1.philox import philox_4x32_10, uniforms
from loudr_core.speech.loudr1.sampler import Sampler
from loudr_core.speech.loudr1.seeds import chunk_seed, derive, flow_seed, vocoder_seed
from loudr_core.speech.loudr1.seeds import second_half_seed as half_seed
from loudr_core.speech.loudr1.text_tokens import TextTokenizer
from loudr_core.speech.loudr1.windowing import time_grid

ROOT = Path(__file__).parents[2]
VECTORS = {"single": "vectors.json", "fusion_mtp2": "vectors_fusion_mtp2.json"}


@pytest.fixture(scope="module")
def folder(test_data: Path) -> Path:
    """Return the folder of the fixtures, or skip."""
    path = test_data / "fixtures" / "loudkit"
    if not path.is_dir():
        pytest.skip(f"no official fixtures at {path}")
    return path


def read(path: Path) -> Any:
    """Return a fixture."""
    return json.loads(path.read_text("utf-8"))


def published(test_data: Path, mode: str) -> Algorithm:
    """Return the algorithm of a release, loudr-1 or loudr-1-turbo."""
    manifest = read(test_data / "specs" / "loudr1" / "prod_manifest_min.json")
    if mode == "fusion_mtp2":
        manifest |= {"format_version": 2, "decode": {"mode": mode}, "n_cfm_timesteps": 1}
    return algorithm_from_manifest(manifest)


def number(text: str) -> int:
    """Return a seed as the fixtures spell it."""
    return int(text, 16)


def test_the_documentation_names_every_fixture(folder: Path) -> None:
    text = (ROOT / "docs" / "LOUDR1.md").read_text("utf-8")
    assert not [each.name for each in folder.iterdir() if f"`{each.name}`" not in text]


def test_philox(folder: Path) -> None:
    philox = read(folder / "vectors.json")["philox"]
    for case in philox["kat"]:
        counter = [np.array([word], np.uint64) for word in case["counter"]]
        words = philox_4x32_10(*counter, *case["key"])  # type: ignore[arg-type]
        assert [int(np.asarray(word).item()) for word in words] == case["expected"]
    for case in philox["uniform_bits"]:
        found = uniforms(
            number(case["seed"]), case["stream"], case["step0"], case["n_steps"], case["width"]
        )
        assert np.array_equal(found * 2.0**32 - 0.5, np.array(case["bits"], np.float64))
    for case in philox["gumbel"]:
        assert case["stream"] == 0
        found = gumbel_at(case["seed"], case["step"], np.arange(case["width"]))
        np.testing.assert_allclose(found, case["values"], rtol=case["rtol"])


def logits_of(case: dict[str, Any]) -> NDArray[np.float32]:
    """Return the logits of a sampler case, float32 [steps, ids]."""
    if "logits" in case:
        return np.array(case["logits"] * case.get("repeat_logits", 1), np.float32)
    recipe = case["logits_recipe"]
    drawn = uniforms(recipe["seed"], recipe["stream"], 0, recipe["steps"], recipe["vocab"])
    scaled: NDArray[np.float32] = (drawn * recipe["scale"] + recipe["offset"]).astype(np.float32)
    return scaled


def draw_all(case: dict[str, Any], *, stop_token: int, eos_floor: int) -> tuple[Sampler, list[int]]:
    """Return a sampler after its draws, and the draws."""
    config = {**case["config"], "silence_token_ids": tuple(case["config"]["silence_token_ids"])}
    sampler = Sampler(
        Sampling(**config), seed=case["seed"], stop_token=stop_token, eos_floor=eos_floor
    )
    logits = logits_of(case)
    seen = np.zeros(logits.shape[1], np.bool_)
    tokens = []
    for step, row in enumerate(logits):
        tokens.append(sampler.draw(row, step=step, seen=seen))
        seen[tokens[-1]] = True
    return sampler, tokens


def test_sampler(folder: Path) -> None:
    for case in read(folder / "vectors.json")["sampler"]["cases"]:
        stop = 6562 if "logits_recipe" in case else 0
        assert draw_all(case, stop_token=stop, eos_floor=10**9)[1] == case["expected"], case["name"]


def test_eos_peak(folder: Path) -> None:
    peaks = read(folder / "vectors.json")["eos_peak"]
    for case in peaks["cases"]:
        sampler, _ = draw_all(case, stop_token=case["stop_token"], eos_floor=case["eos_floor"])
        at, probability = sampler.eos_peak
        assert at == case["expected_at"]
        assert probability == pytest.approx(case["expected_prob"], rel=peaks["prob_rtol"])


def test_seeds(folder: Path) -> None:
    seeds = read(folder / "vectors.json")["seeds"]
    for case in seeds["derivation"]:
        assert derive(case["seed"], case["stream"]) == number(case["derived"])
    assert flow_seed(5) == derive(5, seeds["streams"]["flow"])
    assert vocoder_seed(5) == derive(5, seeds["streams"]["vocoder"])


def test_tokenizer(folder: Path) -> None:
    frontend = read(folder / "vectors.json")["frontend"]
    tokenizer = TextTokenizer((folder / frontend["tokenizer"]).read_bytes(), n_embeddings=2454)
    for case in frontend["cases"]:
        assert tokenizer.encode(case["text"], case["language"]).tolist() == case["ids"]
    for case in read(folder / "reference_meta.json").values():
        assert tokenizer.encode(case["text"], "en").tolist() == case["text_ids"]


@pytest.mark.parametrize("mode", VECTORS)
def test_algorithm(folder: Path, test_data: Path, mode: str) -> None:
    expected = read(folder / VECTORS[mode])["algorithm"]
    algorithm = published(test_data, mode)
    assert canonical_form(algorithm) == expected["canonical_form"]
    assert algorithm_fingerprint(algorithm) == expected["fingerprint"]
    np.testing.assert_allclose(
        time_grid(algorithm), expected["euler_grid"], rtol=expected["grid_rtol"], atol=0
    )


def check_prefix(algorithm: Algorithm, before: list[int], wanted: int, expected: list[int]) -> None:
    """Check what a window takes over from the one before it.

    After a row of odd length the turbo vectors hold its last tokens, while the package they belong
    to carries whole pairs; loudr does as the package does, which the live tests hold it to.
    """
    assert before[-wanted:] == expected
    if algorithm.decode_mode == "single" or len(before) % 2 == 0:
        assert carry(algorithm, before, wanted) == expected


@pytest.mark.parametrize("mode", VECTORS)
def test_long_passages_are_cut_seeded_and_carried(folder: Path, test_data: Path, mode: str) -> None:
    """Texts, seeds and prefixes follow from the published tokens; the tokens want weights."""
    vectors = read(folder / VECTORS[mode])["long_form"]
    algorithm = published(test_data, mode)
    for case in vectors["cases"]:
        assert split_text(case["prepared"], algorithm.chunking) == [
            chunk["text"] for chunk in case["chunks"]
        ]
        before: list[int] = []
        for chunk in case["chunks"]:
            assert chunk_seed(case["seed"], chunk["index"]) == number(chunk["seed"])
            check_prefix(algorithm, before, vectors["prefix_tokens"], chunk["prefix"])
            before = strip_specials(algorithm, chunk["tokens"])
        whole = strip_specials(algorithm, case["tokens"])
        if mode == "fusion_mtp2":
            whole = whole[: len(whole) // 2 * 2]
        assert whole == case["public_tokens"]


@pytest.mark.parametrize("mode", VECTORS)
def test_windows_that_overflow_are_halved_seeded_and_carried(
    folder: Path, test_data: Path, mode: str
) -> None:
    vectors = read(folder / VECTORS[mode])["resplit"]
    algorithm = published(test_data, mode)
    for case in vectors["cases"]:
        chunks = split_text(case["prepared"], Chunking(max_tokens=case["window"]))
        before: list[int] = []
        halves: list[str] = []
        for window in case["windows"]:
            seed = chunk_seed(case["seed"], window["index"])
            if halves:
                text, seed = halves.pop(), half_seed(seed)
            elif window["split"]:
                both = split_in_half(chunks[window["index"]])
                assert both is not None
                text, halves = both[0], [both[1]]
            else:
                text = chunks[window["index"]]
            assert (text, seed) == (window["text"], number(window["seed"]))
            check_prefix(algorithm, before, vectors["prefix_tokens"], window["prefix"])
            before = strip_specials(algorithm, window["tokens"])
        assert not halves
        assert case["windows"][-1]["index"] == len(chunks) - 1


def test_edge_fade(folder: Path) -> None:
    fixture = read(folder / "edge_fade.json")
    for ramp in fixture["ramps"]:
        n = ramp["samples"]
        faded = fade_edges(
            np.ones(4 * n, np.float32),
            sample_rate_hz=fixture["sample_rate"],
            seconds=ramp["seconds"],
        )
        assert faded[:n].view(np.uint32).tolist() == ramp["bits"]
        assert faded[-n:][::-1].view(np.uint32).tolist() == ramp["bits"]
        assert (faded[n:-n] == 1).all()
    assert fixture["bits"] == fixture["ramps"][0]["bits"]


def test_chunking(folder: Path) -> None:
    for case in read(folder / "speechtext.json")["chunking"]:
        chunking = Chunking(
            max_tokens=case["max_tokens"],
            prefix_tokens=case["prefix_tokens"],
            split_on=tuple(case["split_on"]),
            abbreviations=tuple(case["abbreviations"]),
            mid_sentence_period=case["mid_sentence_period"],
        )
        assert split_text(case["text"], chunking) == case["chunks"]


def test_optional_funnel(folder: Path) -> None:
    pytest.importorskip("loudkit", reason="the extra loudkit-text is not installed")
    funnel = open_funnel("loudkit")
    fixture = read(folder / "speechtext.json")
    for case in fixture["cases"]:
        assert funnel.prepare(case["text"], case["language"]) == case["expected"]
    for case in fixture["disputed"]:
        assert funnel.prepare(case["text"], case["language"]) == case["python"]


def test_numbers_of_the_optional_funnel(folder: Path) -> None:
    numbers = pytest.importorskip(
        "loudkit.frontend.numbers", reason="the extra loudkit-text is not installed"
    )
    funnel = open_funnel("loudkit")
    fixture = read(folder / "numbers.json")
    for language, cases in fixture["cardinals"].items():
        for case in cases:
            assert funnel.prepare(str(case["value"]), language) == case["expect"]
    for case in fixture["gendered"]:
        # No text carries a gender, so the package is asked itself whether it is the one meant.
        found = numbers.cardinal(case["value"], case["language"], gender=case["gender"])
        assert found == case["expect"]


def pcm16(samples: list[Any]) -> list[int]:
    """Return samples by the rule of the loudr-1 specification, section 19.1."""
    scaled = np.floor(np.array([float(each) for each in samples]) * 32768)
    return [int(each) for each in np.clip(np.nan_to_num(scaled, nan=0.0), -32768, 32767)]


def test_the_rule_of_wav_files_as_the_specification_states_it(folder: Path) -> None:
    """Loudr writes no WAV file: what is checked is the rule, for those who read one."""
    quantise = read(folder / "wav_quantise.json")["cases"]
    assert pcm16([case["x"] for case in quantise]) == [case["pcm16"] for case in quantise]
    for case in read(folder / "wav_header.json")["cases"]:
        data = struct.pack(f"<{len(case['samples'])}h", *pcm16(case["samples"]))
        rate = case["sample_rate"]
        header = struct.pack(
            "<4sI8sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVEfmt ", 16, 1, 1, rate, 2 * rate, 2,
            16, b"data", len(data),
        )  # fmt: skip
        assert (header + data).hex() == case["hex"]
