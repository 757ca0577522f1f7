"""What a caller of loudr-1 as a Python object may hand in, on a tiny bundle."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loudr_core.errors import SynthesisError
from loudr_core.speech.loudr1.bundle import Bundle, open_bundle
from loudr_core.speech.loudr1.model import Loudr1


@pytest.fixture(scope="module")
def bundle(loudr1_bundles: Callable[..., Path]) -> Bundle:
    return open_bundle(loudr1_bundles(turbo=True))


@pytest.fixture(scope="module")
def model(bundle: Bundle) -> Loudr1:
    return Loudr1(bundle)


@pytest.mark.parametrize("seed", [1.5, 1.0, "7", None, [1]])
def test_a_seed_that_is_no_integer_is_refused_at_every_door(
    seed: Any, model: Loudr1, bundle: Bundle
) -> None:
    voice = bundle.voice("ada")
    for call in (
        lambda: model.synthesize("The lamp.", voice, seed=seed),
        lambda: list(model.stream("The lamp.", voice, seed=seed)),
        lambda: model.synthesize_tokens([1, 2], voice, seed=seed),
    ):
        with pytest.raises(
            ValueError, match=f"^a seed is an integer, found a {type(seed).__name__}:"
        ):
            call()


def test_tokens_may_be_an_array_with_one_axis(model: Loudr1, bundle: Bundle) -> None:
    voice = bundle.voice("ada")
    listed = model.synthesize_tokens([1, 2, 3], voice, seed=4)
    array = model.synthesize_tokens(np.array([1, 2, 3]), voice, seed=np.int64(4))  # type: ignore[arg-type]
    assert array.tokens == (1, 2, 3)
    assert np.array_equal(array.audio, listed.audio)
    with pytest.raises(ValueError, match=r"^speech tokens are one row .* shape \(1, 3\)$"):
        model.synthesize_tokens(np.array([[1, 2, 3]]), voice, seed=4)
    one = model.synthesize("The lamp.", voice, seed=4, previous_tokens=[1, 2, 3])
    same = model.synthesize("The lamp.", voice, seed=4, previous_tokens=np.array([1, 2, 3]))
    assert one.tokens == same.tokens


def test_an_empty_language_is_refused(model: Loudr1, bundle: Bundle) -> None:
    with pytest.raises(SynthesisError, match="speaks no ''"):
        model.synthesize("The lamp.", bundle.voice("ada"), seed=4, language="")
