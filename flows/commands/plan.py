"""`loudr plan`."""

from pathlib import Path
from typing import Any

from flows.configuration import Settings
from flows.opening import engine_pool, open_render, open_settings_store, pool_size
from flows.output import console, print_json, show_plan
from loudr_core.book.read import there
from loudr_core.jobs.plan import Plan
from loudr_core.render.book import RenderOptions
from loudr_core.speech.registry import engine_limits

__all__ = ["plan_json", "run"]


def run(book: Path, settings: Settings, *, options: RenderOptions, json_out: bool) -> None:
    """Plan one book and print the plan."""
    there(book)
    store = open_settings_store(settings)
    with engine_pool(settings, store, size=1) as pool:
        render = open_render(book, settings, store=store, pool=pool, options=options)
        with console.status("reading the book"):
            plan = render.plan()
    eta_s = _eta_s(plan, settings)
    if json_out:
        print_json(plan_json(plan, eta_s=eta_s))
    else:
        show_plan(plan, eta_s=eta_s)


def _eta_s(plan: Plan, settings: Settings) -> float | None:
    """Return seconds that speaking will take on this machine, None when nobody knows."""
    voices = plan.chapter_voices
    factors = {
        chapter.number: engine_limits(voices[chapter.number].engine).real_time_factor
        for chapter in plan.chapters
    }
    if not all(factors.values()):
        return None
    work_s = sum(chapter.est_audio_s * factors[chapter.number] for chapter in plan.chapters)
    return round(work_s / pool_size(settings), 1)


def plan_json(plan: Plan, *, eta_s: float | None = None) -> dict[str, Any]:
    """Return the object of `plan --json`."""
    data, voices = plan.as_dict(), plan.chapter_voices
    return {
        "book_id": plan.book_id,
        "plan_id": plan.plan_id,
        "title": plan.metadata["title"],
        "authors": plan.metadata["authors"],
        "language": plan.metadata["language"],
        "chapters": [
            {**row, "voice": voices[row["number"]].voice, "engine": voices[row["number"]].engine}
            for row in data["chapters"]
        ],
        "sample_rate_hz": plan.sample_rate_hz,
        "segments": plan.segments,
        "left_out": data["left_out"],
        "generated": data["generated"],
        "findings": data["findings"],
        "audit": plan.audit,
        "est_audio_s": plan.est_audio_s,
        "eta_s": eta_s,
        "jobs": f"{plan.folder}/jobs.parquet",
    }
