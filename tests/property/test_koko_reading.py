"""Whatever the text, only characters of the vocabulary reach the encoder, and nothing is silent."""

import unicodedata
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from koko import CHARACTERS, tokenizer_document

from loudr_core.errors import SynthesisError
from loudr_core.speech.koko.reading import UnsupportedCharacters, close_sentence, read_text
from loudr_core.speech.koko.recipe import flow_times
from loudr_core.speech.koko.vocabulary import vocabulary_from

VOCABULARY = vocabulary_from(tokenizer_document(), path=Path("tokenizer.json"))
MOSTLY_ENGLISH = st.text(
    st.one_of(
        st.sampled_from(CHARACTERS),
        st.sampled_from("“”‘’—–…ïßøÉ☃&7\u00ad\u0301 \n"),
        st.characters(),
    ),
    max_size=120,
)


@settings(max_examples=400, deadline=None)
@given(st.one_of(MOSTLY_ENGLISH, st.text(max_size=80)), st.sampled_from(["strict", "lenient"]))
def test_only_known_characters_are_encoded(text: str, policy: str) -> None:
    try:
        found = read_text(text, VOCABULARY, policy=policy)
    except UnsupportedCharacters as error:
        composed = unicodedata.normalize("NFC", text)
        positions = error.context["positions"]
        assert isinstance(positions, list)
        assert {composed[at] for at in positions} == set(str(error.context["characters"]))
        return
    except SynthesisError as error:
        assert "not Latin" in error.message
        return
    assert all(symbol in VOCABULARY for symbol in found.text)
    assert "  " not in found.text
    assert found.text == found.text.strip()
    assert policy == "lenient" or not found.dropped
    told = {*found.replaced, *found.dropped}
    for symbol in unicodedata.normalize("NFC", text):
        if symbol.isalnum() and symbol not in VOCABULARY:
            assert symbol in told
    again = read_text(found.text, VOCABULARY)
    assert (again.text, again.replaced, again.dropped) == (found.text, {}, {})
    if found.text:
        closed = close_sentence(found.text, VOCABULARY)
        assert closed in (found.text, f"{found.text}.")
        assert close_sentence(closed, VOCABULARY) == closed


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 128), st.floats(-1, 1))
def test_times_rise_from_zero_to_one(n_steps: int, sway: float) -> None:
    times = flow_times(n_steps, sway)
    assert (times[0], times[-1], len(times)) == (0.0, 1.0, n_steps + 1)
    assert (times[1:] > times[:-1]).all()
