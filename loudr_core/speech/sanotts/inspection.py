"""What a package of Root A is and whether it is whole, for `loudr bundle describe` and `verify`."""

import json
from collections.abc import Iterator
from pathlib import Path

from loudr_core.errors import BundleError
from loudr_core.speech.bundles import BundleCheck, BundleDescription
from loudr_core.speech.declared import manifest_of_family
from loudr_core.speech.files import is_file, is_folder
from loudr_core.speech.protocol import VoiceInfo
from loudr_core.speech.sanotts.configs import HOP, SAMPLE_RATE_HZ
from loudr_core.speech.sanotts.lookalikes import FORMAT, MANIFEST, look_alike, manifest_of
from loudr_core.speech.sanotts.package import Package, open_package

__all__ = ["describe", "recognises", "verify"]

_COMPONENTS = ("duration", "acoustic", "decoder")
_OTHER_FILES = ("weights.fp16.bin", "piper-phoneme-config.json")
"""As releases call what their manifests name."""


def recognises(path: Path) -> bool:
    """Say whether a folder, or the folder of a file, has a package or what is taken for one."""
    if is_file(path):
        return (path.name == MANIFEST and _is_root_a(path.parent)) or bool(look_alike(path))
    return is_folder(path) and (_is_root_a(path) or bool(look_alike(path)))


def verify(path: Path, *, official: bool) -> Iterator[BundleCheck]:
    """Yield every check: weights, each component's tensors, the phonemes, what upstream says."""
    try:
        package = open_package(path)
    except BundleError as error:
        where = str(error.context.get("path", "")) or str(path)
        yield BundleCheck(what=Path(where).name, state="mismatch", good=False, detail=error.message)
        return
    yield BundleCheck(
        what=package.weights_name, state="ok", good=True, detail="size and SHA-256 as declared"
    )
    for name in _COMPONENTS:
        tensors = package.tensors[name]
        count = sum(array.size for array in tensors.values())
        detail = f"{len(tensors)} tensors, {count:,} parameters, shapes as the config has them"
        yield BundleCheck(what=name, state="ok", good=True, detail=detail)
    yield BundleCheck(
        what=package.phonemes_name,
        state="ok",
        good=True,
        detail=f"{len(package.phonemes.ids)} phonemes, {package.phonemes.kind}",
    )
    for finding in package.findings:
        yield BundleCheck(what=finding.code, state="unknown", good=True, detail=finding.message)
    yield from _release(package, official=official)


def describe(path: Path) -> BundleDescription:
    """Describe a package: voice, language, pace, students, phonemes.

    Raises
    ------
    BundleError
        It cannot be opened.
    """
    package = open_package(path)
    folder = package.folder
    try:
        files = {
            name: (folder / name).stat().st_size
            for name in (MANIFEST, package.weights_name, package.phonemes_name)
        }
    except OSError as error:
        raise BundleError(
            f"{error.filename} is gone ({error.strerror})", path=str(error.filename)
        ) from None
    adapter = package.acoustic.adapter
    return BundleDescription(
        family="sanotts",
        name=package.name,
        facts={
            "format": FORMAT,
            "sample_rate_hz": SAMPLE_RATE_HZ,
            "hop": HOP,
            "length_scale": package.length_scale,
            "parameters": package.parameters,
            "phoneme_type": package.phonemes.kind,
            "espeak_voice": package.phonemes.espeak_voice,
            "phonemes": len(package.phonemes.ids),
            "duration_vocabulary": package.duration.vocab_size,
            "acoustic_vocabulary": package.acoustic.vocab_size,
            "most_ids": package.duration.max_tokens,
            "adapter": adapter.mode if adapter is not None else "none",
            "decoder_channels": list(package.decoder.channels),
            "decoder_branches": [len(kept) for kept in package.decoder.branches],
            "post_filter_channels": package.decoder.filter_channels,
            "weights_sha256": package.weights_sha256,
        },
        files=files,
        voices=(
            VoiceInfo(
                name=package.voice,
                language=package.language,
                sha256=package.weights_sha256,
                licence=package.licence,
            ),
        ),
        findings=package.findings,
    )


def _is_root_a(folder: Path) -> bool:
    # Of a package whose manifest is damaged, the other files tell what it was.
    if all(is_file(folder / name) for name in _OTHER_FILES):
        return True
    if not is_file(folder / MANIFEST):
        return False
    try:
        manifest = json.loads(manifest_of(folder))
    except (BundleError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and str(manifest.get("format", "")).startswith("roota.")


def _release(package: Package, *, official: bool) -> Iterator[BundleCheck]:
    """Yield how a package compares with what is known of the release that it says it is."""
    known = manifest_of_family("sanotts").get("releases", {}).get(package.name)
    if known is None:
        if official:
            detail = f"{package.name!r} is no release that loudr has facts about"
            yield BundleCheck(what="release", state="unlisted", good=False, detail=detail)
        return
    found = {
        "parameters": package.parameters,
        "weights_bytes": (package.folder / package.weights_name).stat().st_size,
    }
    good = all(found[key] == known[key] for key in found)
    detail = "; ".join(f"{key} {found[key]:,}, upstream says {known[key]:,}" for key in found)
    yield BundleCheck(what="release", state="ok" if good else "mismatch", good=good, detail=detail)
