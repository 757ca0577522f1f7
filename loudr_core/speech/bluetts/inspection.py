"""What a BlueTTS bundle is and whether it is whole, for `loudr bundle describe` and `verify`."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from loudr_core.errors import BundleError, LoudrError
from loudr_core.findings import Finding
from loudr_core.speech.bluetts.bundle import (
    BlueBundle,
    bundle_folder,
    find_file,
    open_blue_bundle,
)
from loudr_core.speech.bluetts.ipa import prepare
from loudr_core.speech.bluetts.model import BlueModel
from loudr_core.speech.bluetts.pitch import median_pitch_hz
from loudr_core.speech.bluetts.recipe import LANGUAGE_SPEEDS, Recipe
from loudr_core.speech.bluetts.tables import CHANNELS, FRAME, SAMPLE_RATE_HZ
from loudr_core.speech.bluetts.voices import PITCHES_HZ, voice_info
from loudr_core.speech.bundles import BundleCheck, BundleDescription
from loudr_core.speech.declared import check_declared, declared_files
from loudr_core.speech.files import is_folder
from loudr_core.speech.limits import BLUETTS

__all__ = ["describe", "recognises", "verify"]

_TRIAL: Final = "ðə lˈæmp wɛnt ˈaʊt, ænd nˈoʊbɑdi spˈoʊk."
_PITCH_SLACK: Final = 0.3


def recognises(path: Path) -> bool:
    """Say whether a folder, or the one a file lies in, has a vector estimator."""
    folder = bundle_folder(path)
    return is_folder(folder) and find_file(folder, "vector_estimator.onnx") is not None


def verify(path: Path, *, official: bool) -> Iterator[BundleCheck]:
    """Yield every check: files, the export's manifest, the pinned release, a trial."""
    try:
        bundle = open_blue_bundle(path)
        digests = bundle.digests
    except BundleError as error:
        yield BundleCheck(what="files", state="mismatch", good=False, detail=error.message)
        return
    yield BundleCheck(what="files", state="ok", good=True, detail=f"{len(digests)} files")
    yield _manifest_check(bundle)
    # All but the voices may lie in onnx/, where the graphs then are.
    place = bundle.graphs["vector_estimator"].parent
    yield from check_declared(place, declared_files("bluetts"), official=official)
    try:
        model = BlueModel(bundle, Recipe(n_steps=4))
    except LoudrError as error:
        yield BundleCheck(what="model", state="mismatch", good=False, detail=error.message)
        return
    detail = f"{len(model.vocabulary.ids)} symbols, {len(model.voices)} voices"
    yield BundleCheck(what="model", state="ok", good=True, detail=detail)
    for finding in model.findings:
        yield BundleCheck(what=finding.code, state="unknown", good=True, detail=finding.message)
    for name in model.voices:
        yield _checked(f"trial, {name}", partial(_trial, model, name))


def describe(path: Path) -> BundleDescription:
    """Describe a bundle: files, voices, generation of its graphs.

    Raises
    ------
    BundleError
        It cannot be opened.
    """
    bundle = open_blue_bundle(path)
    model = BlueModel(bundle, Recipe())
    return BundleDescription(
        family="bluetts",
        name=bundle.folder.resolve().name,
        facts={
            "sample_rate_hz": SAMPLE_RATE_HZ,
            "samples_per_frame": FRAME,
            "channels": CHANNELS,
            "symbols": len(model.vocabulary.ids),
            "guidance": "inside the graph" if model.graphs.guidance_inside else "two runs a step",
            "folding": "inside the vocoder" if model.graphs.folds_inside else "outside",
            "languages": sorted(BLUETTS.languages),
            "language_speeds": dict(LANGUAGE_SPEEDS),
            "n_steps": model.recipe.n_steps,
            "cfg": model.recipe.cfg,
            "sha256": dict(bundle.digests),
        },
        files=_sizes(bundle),
        voices=tuple(map(voice_info, model.voices.values())),
        findings=(
            Finding(
                code="bundle-no-licence",
                severity="warning",
                message="The model card declares no licence for the weights, and the voice "
                "'female' is of unclear rights: check both before publishing.",
            ),
            *model.findings,
        ),
    )


def _manifest_check(bundle: BlueBundle) -> BundleCheck:
    what = "manifest.json"
    try:
        bundle.check_manifest()
        count = len(bundle.declared)
    except BundleError as error:
        return BundleCheck(what=what, state="mismatch", good=False, detail=error.message)
    if count:
        return BundleCheck(what=what, state="ok", good=True, detail=f"{count} files as declared")
    state = "absent" if bundle.manifest is None else "unknown"
    return BundleCheck(
        what=what, state=state, good=True, detail="no digests to hold the files to: a table of "
        "another export would not be noticed",
    )  # fmt: skip


def _checked(what: str, detail: Callable[[], str]) -> BundleCheck:
    try:
        return BundleCheck(what=what, state="ok", good=True, detail=detail())
    except (LoudrError, ValueError) as error:
        return BundleCheck(what=what, state="mismatch", good=False, detail=str(error))


def _trial(model: BlueModel, name: str) -> str:
    """Speak a sentence in few steps: shapes, finite numbers, and the pitch of a known voice.

    A wrong fold or forgotten scale gives sound of the right length at another pitch.
    """
    coverage = model.vocabulary.encode(prepare(_TRIAL).text)
    made = model.speak(coverage.ids, model.voices[name], seed=7)
    detail = f"{len(made.samples) / SAMPLE_RATE_HZ:.1f} s for {made.tokens} tokens"
    wanted = PITCHES_HZ.get(name)
    if wanted is None:
        return detail
    found = median_pitch_hz(made.samples, SAMPLE_RATE_HZ)
    if found is None or abs(found / wanted - 1.0) > _PITCH_SLACK:
        said = "no pitch" if found is None else f"{found:.0f} Hz"
        raise ValueError(f"voice {name!r} came out at {said}, documented are {wanted:.0f} Hz")
    return f"{detail}, {found:.0f} Hz"


def _sizes(bundle: BlueBundle) -> dict[str, int]:
    try:
        return {bundle.name_of(path): path.stat().st_size for path in bundle.files}
    except OSError as error:
        raise BundleError(
            f"{error.filename} is gone ({error.strerror})", path=str(error.filename)
        ) from None
