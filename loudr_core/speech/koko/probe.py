"""What a bundle does not say of itself, found out when it is opened.

References
----------
Koko specification, section 3: load-time validation.
"""

from collections.abc import Sequence

import numpy as np

from loudr_core.errors import BundleError, SynthesisError
from loudr_core.speech.graph_facts import gather_rows
from loudr_core.speech.koko.bundle import KokoBundle
from loudr_core.speech.koko.graphs import MEL_BINS, SPEAKER_WIDTH, KokoGraph
from loudr_core.speech.koko.vocabulary import Vocabulary

__all__ = ["check_vocabulary", "frame_multiple", "speaker_count"]

_SPEAKERS = 128
"""Of the release (Koko specification, section 1)."""
_MULTIPLES = (2, 4, 8)
_ANY_LENGTH = (5, 6, 7)


def frame_multiple(flow_step: KokoGraph) -> int:
    """Return the number of which a flow step takes multiples of frames; 1 when it takes all.

    A UNet halves the time axis on its way down. An export that does not pad fails on odd lengths,
    or hands back another length than it was given.

    Raises
    ------
    BundleError
        It works with none of the lengths tried.
    """
    problem = _problem(flow_step, _ANY_LENGTH)
    if not problem:
        return 1
    for multiple in _MULTIPLES:
        # Odd multiples only: those are not multiples of the next number as well.
        if not _problem(flow_step, (3 * multiple, 5 * multiple)):
            return multiple
    raise BundleError(
        f"{flow_step.path} runs on no number of frames: {problem} - fetch the bundle again",
        path=str(flow_step.path),
        key="flow_step",
    )


def speaker_count(bundle: KokoBundle) -> int:
    """Return how many speakers the text encoder has: the rows of its table, where that is seen.

    Raises
    ------
    BundleError
        The graph cannot be read.
    """
    return gather_rows(bundle.graphs["text_encoder"], indices="spk_id") or _SPEAKERS


def check_vocabulary(bundle: KokoBundle, vocabulary: Vocabulary) -> None:
    """Refuse a tokenizer whose ids reach beyond the text encoder's table, where that is seen.

    Raises
    ------
    BundleError
        They do, or the graph cannot be read.
    """
    rows = gather_rows(bundle.graphs["text_encoder"], indices="input_ids")
    if rows is not None and vocabulary.largest_id >= rows:
        raise BundleError(
            f"{bundle.tokenizer} has ids up to {vocabulary.largest_id}, "
            f"{bundle.graphs['text_encoder'].name} knows {rows}: they are not of one release",
            path=str(bundle.tokenizer),
            key="vocab",
        )


def _problem(flow_step: KokoGraph, lengths: Sequence[int]) -> str:
    """Return what went wrong with some number of frames, empty when nothing did."""
    for frames in lengths:
        mel = np.zeros((1, MEL_BINS, frames), np.float32)
        one = np.ones(1, np.float32)
        speaker = np.zeros((1, SPEAKER_WIDTH), np.float32)
        feeds = {"x": mel, "mu": mel, "spk_emb": speaker, "t": 0 * one, "dt": one, "cfg": one}
        try:
            (found,) = flow_step.run(feeds)
        except SynthesisError as error:
            return f"with {frames} frames, {error.message}"
        if found.shape != mel.shape:
            return f"{frames} frames become {list(found.shape)}"
    return ""
