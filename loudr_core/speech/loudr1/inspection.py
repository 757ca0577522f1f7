"""What a loudr-1 bundle is and whether it is whole, for `loudr bundle describe` and `verify`."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from loudr_core.errors import BundleError
from loudr_core.findings import Finding
from loudr_core.speech.bundles import BundleCheck, BundleDescription
from loudr_core.speech.checksums import SUMS_NAME, check_tree
from loudr_core.speech.declared import manifest_of_family
from loudr_core.speech.files import entries, is_file, is_folder
from loudr_core.speech.json_values import shown
from loudr_core.speech.loudr1.bundle import Bundle, open_bundle
from loudr_core.speech.loudr1.container import payload_sha256
from loudr_core.speech.protocol import VoiceInfo

__all__ = ["describe", "recognises", "verify"]

_SUFFIX: Final = ".safetensors"
_MANIFESTS: Final = {"single": "loudr1", "fusion_mtp2": "loudr1-turbo"}
"""Decode mode to the manifest of the release that decodes so."""
_DIGEST_KEY: Final = "tensor_payload_sha256"


def recognises(path: Path) -> bool:
    """Say whether a file, or one at a folder's top, is a safetensors container by its name."""
    if is_file(path):
        return path.suffix == _SUFFIX
    return is_folder(path) and any(
        each.suffix == _SUFFIX and not each.name.startswith(".") for each in entries(path)
    )


def verify(path: Path, *, official: bool) -> Iterator[BundleCheck]:
    """Yield every check: listed files, then the parts among themselves, then what they hold."""
    yield from _checksums(path if is_folder(path) else path.parent, official=official)
    try:
        bundle = open_bundle(path)
    except BundleError as error:
        yield BundleCheck(what="parts", state="mismatch", good=False, detail=error.message)
        return
    yield BundleCheck(
        what="parts", state="ok", good=True, detail="checkpoint, tokenizer and graphs fit together"
    )
    yield _release_check(bundle, official=official)
    for finding in bundle.findings:
        yield BundleCheck(what=finding.code, state="unknown", good=True, detail=finding.message)
    for name in bundle.voice_names():
        yield _checked(f"voice {name}", partial(_voice_detail, bundle, name))
    yield _checked("weights", partial(_weights_detail, bundle))
    yield _checked("payload", partial(_payload_detail, bundle))


def describe(path: Path) -> BundleDescription:
    """Describe a bundle: decode mode, fingerprint, rates, sampler, graphs, voices.

    Raises
    ------
    BundleError
        It cannot be opened.
    """
    bundle = open_bundle(path)
    algorithm = bundle.algorithm
    name = bundle.manifest.get("name")
    voices, findings = _voices(bundle)
    return BundleDescription(
        family="loudr1",
        name=name if isinstance(name, str) else bundle.checkpoint.stem,
        facts={
            "decode_mode": algorithm.decode_mode,
            "fingerprint": bundle.fingerprint,
            "sample_rate_hz": algorithm.sample_rate_hz,
            "token_rate_hz": algorithm.token_rate_hz,
            "recipe": algorithm.recipe_version,
            "euler_steps": algorithm.euler_steps,
            "temperature": algorithm.sampling.temperature,
            "repetition_penalty": algorithm.sampling.repetition_penalty,
            "min_p": algorithm.sampling.min_p,
            "max_new_tokens": algorithm.sampling.max_new_tokens,
            "detectors": algorithm.detectors.mode,
            "checkpoint_sha256": bundle.checkpoint_sha256,
            "enrolment_graphs": list(bundle.enrolment_graphs),
        },
        files=_sizes(bundle),
        voices=voices,
        findings=(*bundle.findings, *findings),
    )


def _checksums(folder: Path, *, official: bool) -> Iterator[BundleCheck]:
    listed = False
    try:
        for file in check_tree(folder, official=official):
            listed = True
            yield BundleCheck(what=file.name, state=file.state, good=file.ok, detail=file.detail)
    except BundleError as error:
        yield BundleCheck(what=SUMS_NAME, state="mismatch", good=False, detail=error.message)
        return
    if not listed:
        yield BundleCheck(
            what=SUMS_NAME, state="absent", good=True, detail="no file could be compared"
        )


def _release_check(bundle: Bundle, *, official: bool) -> BundleCheck:
    """Compare the algorithm with that of the release, which is all that is published of it."""
    known = manifest_of_family(_MANIFESTS[bundle.algorithm.decode_mode])
    wanted, what = str(known["fingerprint"]), f"algorithm of {known['name']}"
    if bundle.fingerprint == wanted:
        return BundleCheck(what=what, state="ok", good=True, detail=f"fingerprint {wanted}")
    return BundleCheck(
        what=what,
        state="mismatch",
        good=not official,
        detail=f"fingerprint {bundle.fingerprint}, {wanted} in the release",
    )


def _checked(what: str, detail: Callable[[], str]) -> BundleCheck:
    try:
        return BundleCheck(what=what, state="ok", good=True, detail=detail())
    except BundleError as error:
        return BundleCheck(what=what, state="mismatch", good=False, detail=error.message)


def _voice_detail(bundle: Bundle, name: str) -> str:
    voice = bundle.voice(name)
    return f"{voice.language or 'en'}, {len(voice.prompt_tokens)} prompt tokens"


def _weights_detail(bundle: Bundle) -> str:
    bundle.weights()
    return "every table is there and finite"


def _payload_detail(bundle: Bundle) -> str:
    wanted = bundle.manifest.get(_DIGEST_KEY)
    if wanted is None:
        return f"the manifest has no {_DIGEST_KEY}"
    found = payload_sha256(bundle.checkpoint)
    if found != wanted:
        raise BundleError(
            f"tensors of {bundle.checkpoint.name} have digest {found}, "
            f"the manifest's {_DIGEST_KEY} is {shown(wanted)}: copy the file again",
            path=str(bundle.checkpoint),
            key=_DIGEST_KEY,
        )
    return "the tensors are those of the manifest"


def _voices(bundle: Bundle) -> tuple[tuple[VoiceInfo, ...], tuple[Finding, ...]]:
    voices: list[VoiceInfo] = []
    findings: list[Finding] = []
    for name in bundle.voice_names():
        try:
            voice = bundle.voice(name)
        except BundleError as error:
            findings.append(
                Finding(
                    code="bundle-damaged-voice",
                    severity="warning",
                    message=error.message,
                    where={"voice": name},
                )
            )
            continue
        voices.append(
            VoiceInfo(
                name=name,
                language=voice.language or "en",
                sha256=voice.sha256,
                description=voice.name if voice.name != name else "",
            )
        )
    return tuple(voices), tuple(findings)


def _sizes(bundle: Bundle) -> dict[str, int]:
    files = (bundle.checkpoint, *bundle.graphs.values())
    try:
        return {_shown_name(each, bundle.folder): each.stat().st_size for each in files}
    except OSError as error:
        raise BundleError(
            f"{error.filename} is gone ({error.strerror})", path=str(error.filename)
        ) from None


def _shown_name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
