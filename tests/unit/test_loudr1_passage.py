"""Windows and passages over a model that says what it is told to say."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from loudr_core.errors import SynthesisError
from loudr_core.findings import Finding
from loudr_core.speech.cancelling import Poll, SynthesisCancelled, poll_of
from loudr_core.speech.loudr1.algorithm import Algorithm, Chunking, Detectors, Sampling, Window
from loudr_core.speech.loudr1.findings import passage_findings, reading_findings
from loudr_core.speech.loudr1.passage import Passage, PassageOrder, join_windows, speak
from loudr_core.speech.loudr1.sampler import Sampler
from loudr_core.speech.loudr1.seeds import attempt_seed, chunk_seed, flow_seed, second_half_seed
from loudr_core.speech.loudr1.voice import VoiceProfile
from loudr_core.speech.protocol import SpeechRequest

STOP = 6562
VOICE = VoiceProfile(
    name="v",
    speaker_embedding=np.ones(256, np.float32),
    flow_embedding=np.ones(192, np.float32),
    prompt_tokens=np.arange(4),
    prompt_mel=np.zeros((80, 8), np.float32),
    cond_prompt_tokens=np.arange(4),
    language="de",
)
ALGORITHM = Algorithm(
    edge_fade_seconds=0.02,
    sampling=Sampling(min_tokens_floor=10, min_tokens_text_ratio=1.2),
    window=Window(static_length=255, pad_token_id=4254, static_prompt_tokens=238),
    chunking=Chunking(max_tokens=60),
    detectors=Detectors(silence_render_ids=(4137,)),
)
GOOD = [*range(100, 160), STOP]
SHORT = [1, 2, 3, STOP]


class Scripted:
    """A model with one row for each draw."""

    def __init__(self, *rows: list[int], algorithm: Algorithm = ALGORITHM) -> None:
        self.algorithm = algorithm
        self.rows = list(rows)
        self.seeds: list[int] = []
        self.texts: list[tuple[str, str]] = []
        self.prefixes: list[list[int]] = []
        self.mel_seeds: list[int] = []

    def encode(self, text: str, language: str) -> NDArray[np.int64]:
        self.texts.append((text, language))
        return np.arange(len(text))

    def generate(
        self,
        text_ids: NDArray[np.int64],
        voice: VoiceProfile,
        *,
        sampler: Sampler,
        eos_floor: int,
        max_tokens: int,
        prefix: Sequence[int],
        poll: Poll,
    ) -> list[int]:
        poll()
        self.seeds.append(sampler._seed)
        self.prefixes.append(list(prefix))
        return self.rows.pop(0)[:max_tokens]

    def decode(
        self, tokens: Sequence[int], voice: VoiceProfile, *, seed: int
    ) -> NDArray[np.float32]:
        self.mel_seeds.append(seed)
        return np.repeat(np.asarray(tokens, np.float32), 2)[None].repeat(80, axis=0)

    def vocode(self, mel: NDArray[np.float32], *, seed: int) -> NDArray[np.float32]:
        return np.ones(480 * mel.shape[1], np.float32)


def spoken(model: Scripted, text: str = "The lamp was lit.", **options: Any) -> Passage:
    order = PassageOrder(text=text, voice=VOICE, seed=options.pop("seed", 7), **options)
    return speak(model, order, lambda each, language: each.strip(), poll=poll_of(None))


def test_a_row_too_short_for_its_text_is_drawn_again_with_another_seed() -> None:
    model = Scripted(SHORT, GOOD)
    found = spoken(model)
    assert model.seeds == [7, attempt_seed(7, 1)]
    assert model.mel_seeds == [flow_seed(7)]  # of the window, whichever attempt is heard
    assert found.tokens == tuple(range(100, 160))
    assert found.windows[0].attempts == 2
    assert not found.suspect
    (finding,) = passage_findings(found, trimmed=True)
    assert (finding.code, finding.severity) == ("speech-retried", "info")


def test_of_bad_rows_the_one_with_the_least_dead_air_counts() -> None:
    rows = [[4137, 4137, 5, STOP], [4137, 6, 7, STOP], [8, 9, 4137, STOP]]
    found = spoken(Scripted(*rows))
    assert found.tokens == (4137, 6, 7)
    assert found.windows[0].attempts == 3
    assert found.suspect
    (finding,) = passage_findings(found, trimmed=True)
    assert (finding.code, finding.severity) == ("speech-dropout", "error")
    assert finding.where["window"] == 0


def test_marks_are_not_rendered_and_not_carried() -> None:
    text = "The lamp was lit at dusk. The keeper went up the stairs."
    model = Scripted([*range(40, 95), 6561, 7000, 8193, STOP], GOOD)
    found = spoken(model, text)
    assert found.windows[0].tokens == tuple(range(40, 95))
    assert model.prefixes == [[], list(range(89, 95))]
    assert found.windows[0].n_generated == 58


def test_only_marks_are_no_speech() -> None:
    model = Scripted(*[[6561, 6563, STOP]] * 3)
    with pytest.raises(SynthesisError, match="no speech came of 17 text tokens in 3 attempts"):
        spoken(model)


def test_chunks_have_seeds_of_their_own_and_the_language_of_the_voice() -> None:
    text = "The lamp was lit at dusk. The keeper went up the stairs."
    model = Scripted(GOOD, GOOD)
    found = spoken(model, text, seed=2**64 + 3)
    assert model.seeds == [3, chunk_seed(3, 1)]
    assert model.texts == [
        ("The lamp was lit at dusk.", "de"),
        ("The keeper went up the stairs.", "de"),
    ]
    assert [window.order.terminal for window in found.windows] == [False, True]
    assert found.seed == 2**64 + 3
    assert [chunk.start for chunk in found.chunks] == [0.0, found.chunks[0].end]
    assert len(found.audio) == 960 * len(found.tokens)
    assert found.mel.shape == (80, 2 * len(found.tokens))


def test_edges_of_every_window_are_faded() -> None:
    found = spoken(Scripted(GOOD, GOOD), "The lamp was lit at dusk. The keeper went up the stairs.")
    seam = 960 * len(found.windows[0].tokens)
    for edge in (0, seam - 1, seam, len(found.audio) - 1):
        assert abs(found.audio[edge]) < 1e-4
    assert found.audio[seam // 2] == 1


FULL = [(7 * place) % 6000 for place in range(255)]
LONG = replace(
    ALGORITHM,
    chunking=Chunking(max_tokens=255),
    detectors=replace(ALGORITHM.detectors, ceiling_slack_tokens=300),
)


def test_a_row_that_fills_the_window_is_spoken_in_two_halves() -> None:
    model = Scripted(FULL, GOOD, GOOD, algorithm=LONG)
    text = "The lamp was lit at dusk, and the keeper went up the stairs."
    found = spoken(model, text, previous_tokens=[1, 2, 3])
    first, second = found.windows
    assert f"{first.order.text} {second.order.text}" == text
    assert model.seeds == [7, 7, second_half_seed(7)]
    assert model.prefixes == [[1, 2, 3], [1, 2, 3], list(range(154, 160))]
    assert (first.order.terminal, second.order.terminal) == (False, True)


def test_a_word_without_a_boundary_keeps_what_the_window_held_and_says_so() -> None:
    found = spoken(Scripted(FULL, algorithm=LONG), "A" * 70)
    assert found.windows[0].hit_window
    assert found.hit_token_cap
    (finding,) = passage_findings(found, trimmed=True)
    assert (finding.code, finding.severity) == ("speech-unfinished", "error")


def test_what_fits_no_window_is_refused_when_one_is_asked_for() -> None:
    with pytest.raises(SynthesisError, match="255 speech tokens fill the window of 255"):
        spoken(Scripted(FULL, FULL, FULL, algorithm=LONG), single_window=True)


def test_mode_off_draws_once_and_report_does_not_cut() -> None:
    looped = [*range(100, 130), *[700, 701, 702] * 10, STOP]
    for mode, kept in (("trim", 33), ("report", 60), ("off", 60)):
        detectors = Detectors(mode=mode)  # type: ignore[arg-type]
        model = Scripted(looped, algorithm=replace(ALGORITHM, detectors=detectors))
        assert len(spoken(model).tokens) == kept
    off = replace(ALGORITHM, detectors=Detectors(mode="off"))
    assert spoken(Scripted(SHORT, algorithm=off)).tokens == (1, 2, 3)


def test_a_loop_that_was_cut_is_told_and_not_condemned() -> None:
    found = spoken(Scripted([*range(100, 130), *[700, 701, 702] * 10, STOP]))
    (finding,) = passage_findings(found, trimmed=True)
    assert (finding.code, finding.severity) == ("speech-repetition", "info")
    assert finding.where == {"window": 0, "tokens": 60, "kept": 33}


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"text": " \n"}, SynthesisError, "nothing to speak: the text is empty"),
        ({"speed": 2.5}, ValueError, "speed 2.5"),
        ({"previous_tokens": [3, 6561]}, ValueError, "6561 is no speech token"),
        ({"previous_tokens": [0.5]}, ValueError, r"0\.5 is no speech token"),
        ({"previous_tokens": np.array([3, 6561])}, ValueError, r"6561\) is no speech token"),
        ({"previous_tokens": np.ones((2, 3))}, ValueError, r"an array of shape \(2, 3\)"),
        ({"seed": 1.5}, ValueError, "a seed is an integer, found a float"),
        ({"seed": 1.0}, ValueError, "a seed is an integer, found a float"),
        ({"seed": "7"}, ValueError, "a seed is an integer, found a str"),
        ({"seed": None}, ValueError, "a seed is an integer, found a NoneType"),
    ],
)
def test_what_cannot_be_spoken_is_refused_before_a_token_is_drawn(
    options: dict[str, Any], error: type[Exception], said: str
) -> None:
    model = Scripted()
    with pytest.raises(error, match=said):
        spoken(model, **options)
    assert not model.seeds


def test_tokens_before_may_be_an_array() -> None:
    for before in (np.arange(9), np.arange(9, dtype=np.uint16), np.arange(9.0)):
        model = Scripted(GOOD)
        spoken(model, previous_tokens=before)
        assert model.prefixes == [[3, 4, 5, 6, 7, 8]]
    for nothing in (None, [], np.array([], np.int64)):
        model = Scripted(GOOD)
        spoken(model, previous_tokens=nothing)
        assert model.prefixes == [[]]


def test_a_numpy_integer_is_a_seed() -> None:
    for seed in (np.int64(-1), np.uint64(2**64 - 1), -1):
        model = Scripted(GOOD)
        spoken(model, seed=seed)
        assert model.seeds == [2**64 - 1]


def test_an_empty_language_is_given_as_it_is() -> None:
    model = Scripted(GOOD)
    spoken(model, language="")
    assert [language for _, language in model.texts] == [""]


def test_a_funnel_that_leaves_nothing_is_an_error() -> None:
    order = PassageOrder(text="—", voice=VOICE, seed=1)
    with pytest.raises(SynthesisError, match="the text funnel leaves nothing"):
        speak(Scripted(), order, lambda text, language: " ", poll=poll_of(None))


@pytest.mark.parametrize("asked", range(4))
def test_stopping_is_heard_between_stages(asked: int) -> None:
    answers = iter([*[False] * asked, True])
    order = PassageOrder(text="The lamp.", voice=VOICE, seed=1)
    with pytest.raises(SynthesisCancelled):
        speak(Scripted(GOOD), order, lambda t, _: t, poll=poll_of(lambda: next(answers)))


def test_a_passage_of_nothing_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="at least one window"):
        join_windows(Scripted(), PassageOrder(text="", voice=VOICE, seed=1), [])


def _request(text: str, phonemes: str | None = None) -> SpeechRequest:
    return SpeechRequest(id="a", text=text, language="en", voice="v", seed=1, phonemes=phonemes)


def test_symbols_and_phonemes_that_are_not_read_are_told() -> None:
    found = reading_findings(_request("naïve ☂ rain", "næɪv"), unread=["☂"])
    assert [finding.code for finding in found] == [
        "speech-unread-symbol",
        "speech-phonemes-unused",
    ]
    assert all(isinstance(each, Finding) and each.severity == "warning" for each in found)
    assert "☂" in found[0].message
    assert reading_findings(_request("rain"), unread=[]) == []


def test_a_text_in_letters_that_the_voice_cannot_read_is_refused() -> None:
    with pytest.raises(SynthesisError, match="6 of 10 letters"):
        reading_findings(_request("дождик rain"), unread=sorted(set("дождик")))
