"""What a Koko bundle is and whether it is whole, for `loudr bundle describe` and `verify`."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from loudr_core.errors import BundleError, LoudrError
from loudr_core.findings import Finding
from loudr_core.speech.bundles import BundleCheck, BundleDescription
from loudr_core.speech.checksums import SUMS_NAME, check_tree
from loudr_core.speech.declared import check_declared, declared_files
from loudr_core.speech.files import is_file, is_folder
from loudr_core.speech.koko.bundle import (
    GRAPHS,
    KokoBundle,
    bundle_folder,
    find_graph,
    open_koko_bundle,
)
from loudr_core.speech.koko.graphs import KokoGraph
from loudr_core.speech.koko.model import SAMPLE_RATE_HZ, KokoModel
from loudr_core.speech.koko.probe import check_vocabulary, frame_multiple, speaker_count
from loudr_core.speech.koko.recipe import Recipe
from loudr_core.speech.koko.vocabulary import read_vocabulary
from loudr_core.speech.koko.voices import voice_infos

__all__ = ["describe", "recognises", "verify"]

_TRIAL = "the lamp went out."


def recognises(path: Path) -> bool:
    """Say whether a folder, or the one a file lies in, has a flow step or the two other graphs."""
    folder = bundle_folder(path)
    if not is_folder(folder):
        return False
    if find_graph(folder, "flow_step") or find_graph(folder, "flow_step_fp16"):
        return True
    others = (("text_encoder", "text_encoder"), ("vocoder", "vocoder_fp16"))
    return is_file(folder / "tokenizer.json") and all(
        any(find_graph(folder, stem) for stem in stems) for stems in others
    )


def verify(path: Path, *, official: bool) -> Iterator[BundleCheck]:
    """Yield every check: checksums where there are any, then each precision's parts and a trial."""
    folder = bundle_folder(path)
    yield from _checksums(folder, official=official)
    for precision in _precisions(folder):
        try:
            bundle = open_koko_bundle(folder, precision=precision)
        except BundleError as error:
            yield BundleCheck(what="files", state="mismatch", good=False, detail=error.message)
            continue
        for name in GRAPHS:
            yield _checked(f"{name}, {precision}", partial(_graph_detail, bundle, name))
        yield _checked("tokenizer", partial(_tokenizer_detail, bundle))
        yield _checked(f"trial, {precision}", partial(_trial_detail, bundle))


def describe(path: Path) -> BundleDescription:
    """Describe a bundle: files, precisions, speakers, and what was found out by trying.

    Raises
    ------
    BundleError
        It cannot be opened.
    """
    folder = bundle_folder(path)
    precisions = _precisions(folder)
    bundle = open_koko_bundle(folder, precision=precisions[0])
    vocabulary = read_vocabulary(bundle.tokenizer)
    check_vocabulary(bundle, vocabulary)
    speakers = speaker_count(bundle)
    multiple = frame_multiple(KokoGraph("flow_step", bundle.graphs["flow_step"]))
    recipe = Recipe()
    return BundleDescription(
        family="koko",
        name=folder.resolve().name,
        facts={
            "sample_rate_hz": SAMPLE_RATE_HZ,
            "precisions": list(precisions),
            "half_graphs": list(_half(folder, precisions)),
            "speakers": speakers,
            "characters": len(vocabulary.ids),
            "frame_multiple": multiple,
            "n_steps": recipe.n_steps,
            "temperature": recipe.temperature,
            "cfg": recipe.cfg,
            "sway": recipe.sway,
            **{f"{name}_sha256": value for name, value in bundle.digests.items()},
        },
        files=_sizes(bundle),
        voices=voice_infos(speakers, bundle.digests["text_encoder"]),
        findings=(
            Finding(
                code="bundle-no-published-checksums",
                severity="info",
                message="No checksums of a Koko release are known: the files are judged by their "
                "shapes alone.",
            ),
        ),
    )


def _precisions(folder: Path) -> tuple[str, ...]:
    """Return the precisions that have graphs; single also where nothing is whole, to say so."""
    half = any(find_graph(folder, f"{name}_fp16") for name in GRAPHS)
    single = all(find_graph(folder, name) for name in GRAPHS)
    return tuple(
        precision
        for precision, there in (("float32", single or not half), ("float16", half))
        if there
    )


def _half(folder: Path, precisions: tuple[str, ...]) -> tuple[str, ...]:
    if "float16" not in precisions:
        return ()
    return open_koko_bundle(folder, precision="float16").half_graphs


def _checksums(folder: Path, *, official: bool) -> Iterator[BundleCheck]:
    if is_file(folder / SUMS_NAME):
        try:
            for file in check_tree(folder, official=False):
                yield BundleCheck(
                    what=file.name, state=file.state, good=file.ok, detail=file.detail
                )
        except BundleError as error:
            yield BundleCheck(what=SUMS_NAME, state="mismatch", good=False, detail=error.message)
    files = declared_files("koko")
    yield from check_declared(folder, files, official=official)
    if not any(file.sha256 for file in files):
        detail = "no checksums of a release are published"
        yield BundleCheck(what="release", state="unknown", good=not official, detail=detail)


def _checked(what: str, detail: Callable[[], str]) -> BundleCheck:
    try:
        return BundleCheck(what=what, state="ok", good=True, detail=detail())
    except (LoudrError, ValueError) as error:
        return BundleCheck(what=what, state="mismatch", good=False, detail=str(error))


def _graph_detail(bundle: KokoBundle, name: str) -> str:
    graph = KokoGraph(name, bundle.graphs[name])
    beside = ", ".join(path.name for path in bundle.parts[name][1:])
    detail = bundle.graphs[name].name + (f" with {beside}" if beside else "")
    if name == "text_encoder":
        return f"{detail}, {speaker_count(bundle)} speakers"
    if name == "flow_step":
        return f"{detail}, frames by {frame_multiple(graph)}"
    return detail


def _tokenizer_detail(bundle: KokoBundle) -> str:
    vocabulary = read_vocabulary(bundle.tokenizer)
    check_vocabulary(bundle, vocabulary)
    return f"{len(vocabulary.ids)} characters, unknown is {vocabulary.unknown_id}"


def _trial_detail(bundle: KokoBundle) -> str:
    """Speak a sentence in two steps: shapes and finite numbers, not quality."""
    model = KokoModel(bundle, Recipe(n_steps=2))
    made = model.speak(_TRIAL, 0, seed=7)
    return f"{len(made.samples) / SAMPLE_RATE_HZ:.1f} s for {made.tokens} characters"


def _sizes(bundle: KokoBundle) -> dict[str, int]:
    files = [bundle.tokenizer, *(path for paths in bundle.parts.values() for path in paths)]
    try:
        return {each.relative_to(bundle.folder).as_posix(): each.stat().st_size for each in files}
    except OSError as error:
        raise BundleError(
            f"{error.filename} is gone ({error.strerror})", path=str(error.filename)
        ) from None
