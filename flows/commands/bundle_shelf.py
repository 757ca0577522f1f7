"""Which bundles this machine has, for `loudr doctor`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from flows.configuration import Settings
from loudr_core.errors import BundleError
from loudr_core.speech.bundle_search import FoundBundle, find_bundles
from loudr_core.speech.bundles import verify_bundle

__all__ = ["ShelfRow", "places_of", "shelf"]

State = Literal["ok", "missing", "broken"]
ShelfRow = tuple[str, State, str]
"""What was looked at, its state, and a line about it."""


def places_of(settings: Settings, more: Sequence[Path] = ()) -> list[Path]:
    """Return where bundles are looked for: those of the profile, the home's folder, and others."""
    named = [settings.bundle, *(voice.bundle for voice in settings.voices.values())]
    chosen = [Path(each).expanduser() for each in named if each]
    return [*chosen, settings.home.expanduser() / "bundles", *(each.expanduser() for each in more)]


def shelf(settings: Settings, more: Sequence[Path], *, verify: bool) -> Iterator[ShelfRow]:
    """Yield a row for each bundle, and one where there is none.

    Parameters
    ----------
    settings : Settings
        Its bundles are needed, so one that is not whole is broken; others may lie there unused.
    more : sequence of Path
        Folders to look into besides.
    verify : bool
        Compare what the files hold, and try the model, which takes its time.
    """
    places = places_of(settings, more)
    needed = {each.resolve() for each in places_of(settings)[:-1]}
    count = 0
    for place in places:
        if not place.is_dir() and (place.resolve() in needed or place in more):
            yield "bundle", "broken", f"{place} is not there"
    try:
        for found in find_bundles(places):
            count += 1
            yield _row(found, needed=found.folder.resolve() in needed, verify=verify)
    except BundleError as error:
        yield "bundle", "broken", error.message
    if not count:
        looked = ", ".join(map(str, places))
        yield (
            "bundles",
            "missing",
            f"none in {looked}: only the embedded voice speaks; --bundles DIR looks elsewhere",
        )


def _row(found: FoundBundle, *, needed: bool, verify: bool) -> ShelfRow:
    what = f"bundle {found.name}"
    bad: State = "broken" if needed else "missing"
    about = f"{found.folder}: engine {found.engine}"
    if found.version:
        about += f", {found.version}"
    if not found.complete:
        return what, bad, f"{about}; incomplete, without {', '.join(found.missing)}"
    if found.other_sizes:
        more = len(found.other_sizes) - 1
        about += f"; complete, not as released: {found.other_sizes[0]}"
        about += f", and {more} more" if more else ""
    elif found.sized:
        about += f"; complete, {found.sized} of {found.files} files of the release's size"
    else:
        about += f"; complete, {found.files} files, of no published size"
    if not verify:
        return what, "ok", about
    checks = list(verify_bundle(found.folder))
    wrong = [check for check in checks if not check.good]
    if wrong:
        first = f"{wrong[0].what}: {wrong[0].detail or wrong[0].state}"
        return what, bad, f"{about}; {len(wrong)} of {len(checks)} checks failed, {first}"
    return what, "ok", f"{about}; {len(checks)} checks passed"
