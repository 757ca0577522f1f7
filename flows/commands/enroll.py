"""`loudr voices enroll`."""

from pathlib import Path

from rich.markup import escape

from flows.configuration import Settings
from flows.output import duration, print_json, results, show_findings
from loudr_core.audio.recording import Recording, read_recording
from loudr_core.errors import ConfigError
from loudr_core.speech.loudr1.algorithm import SAMPLES_PER_TOKEN
from loudr_core.speech.loudr1.bundle import open_bundle
from loudr_core.speech.loudr1.enrol import Enroller, checked_language
from loudr_core.speech.loudr1.reference_audio import MAX_SECONDS, check_reference
from loudr_core.speech.loudr1.voice import VoiceProfile, write_voice

__all__ = ["run"]

_SUFFIX = ".safetensors"
_NAME_CHARACTERS = 200


def run(
    recording: Path,
    output: Path,
    settings: Settings,
    *,
    name: str | None,
    language: str,
    pause: bool,
    overwrite: bool,
    json_out: bool,
) -> None:
    """Read a recording, make a voice of it and write the profile.

    What is wrong with the arguments or the recording is said before a model is loaded.
    """
    if settings.bundle is None:
        raise ConfigError("no bundle to enroll with: name a loudr-1 folder with --bundle")
    name = _checked_name(output.stem if name is None else name)
    language = checked_language(language)
    _check_output(output, overwrite=overwrite)
    heard = read_recording(recording, most_seconds=MAX_SECONDS)
    what = f"recording {recording}"
    check_reference(heard.samples, heard.sample_rate_hz, what=what)
    bundle = open_bundle(Path(settings.bundle).expanduser())
    enroller = Enroller(bundle.enrolment_graphs, provider=settings.provider)
    profile = enroller.enrol(
        heard.samples, heard.sample_rate_hz, name=name, language=language, pause=pause, what=what
    )
    try:
        written = write_voice(profile, output)
    except OSError as error:
        raise _unwritable(output, error) from error
    findings = (*bundle.findings, *heard.findings)
    if json_out:
        print_json(
            {
                "voice": _facts(written, heard, output),
                "findings": [finding.as_dict() for finding in findings],
            }
        )
        return
    show_findings(findings)
    results.print(
        f"voice [bold]{escape(written.name)}[/bold] ({written.language}), prompt of "
        f"{duration(_prompt_s(written))}: {escape(str(output))}"
    )


def _checked_name(name: str) -> str:
    if not name.strip() or len(name) > _NAME_CHARACTERS:
        raise ConfigError(
            f"a voice's name has 1 to {_NAME_CHARACTERS} characters, found {len(name.strip())}: "
            "give another --name",
            found=len(name),
        )
    return name


def _check_output(output: Path, *, overwrite: bool) -> None:
    if output.suffix != _SUFFIX:
        raise ConfigError(
            f"a voice's file ends in {_SUFFIX}, found {output.name!r}: give another -o",
            path=str(output),
        )
    try:
        folder, taken = output.parent.is_dir(), output.exists()
    except OSError as error:
        raise _unwritable(output, error) from error
    if not folder:
        raise ConfigError(f"no folder {output.parent}: create it first", path=str(output))
    if taken and not overwrite:
        raise ConfigError(
            f"there is a voice {output} already: give --overwrite to replace it, or another -o",
            path=str(output),
        )


def _unwritable(output: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"cannot write voice {output} ({error.strerror}): name another file with -o",
        path=str(output),
    )


def _facts(voice: VoiceProfile, heard: Recording, output: Path) -> dict[str, object]:
    return {
        "file": str(output),
        "name": voice.name,
        "language": voice.language,
        "enrolment": voice.enrolment,
        "prompt_s": _prompt_s(voice),
        "source_sample_rate_hz": voice.source_sample_rate_hz,
        "source_seconds": len(heard.samples) / heard.sample_rate_hz,
        "sha256": voice.sha256,
    }


def _prompt_s(voice: VoiceProfile) -> float:
    return len(voice.prompt_tokens) * SAMPLES_PER_TOKEN / 24_000
