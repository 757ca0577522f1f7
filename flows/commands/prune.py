"""`loudr prune`: remove from the store what no plan names, and old records from a server."""

import os

from flows import prefect_environment
from flows.configuration import Settings
from flows.home import make_home
from flows.named_server import asking_server, reach_server
from flows.opening import open_kept_store
from flows.output import counted, print_json, results
from loudr_core.jobs.prune import PruneReport, prune_store

__all__ = ["run"]


def run(
    settings: Settings,
    *,
    older_than_days: float,
    plans_older_than_days: float,
    runs_older_than_days: float,
    dry_run: bool,
    json_out: bool,
) -> None:
    """Prune the store; and the runs' records, when `PREFECT_API_URL` names a server."""
    store = open_kept_store(settings)
    went = prune_store(
        store,
        older_than_days=older_than_days,
        plans_older_than_days=plans_older_than_days,
        dry_run=dry_run,
    )
    runs = _runs(settings, runs_older_than_days, dry_run=dry_run)
    if json_out:
        print_json({"store": went.as_dict(), "runs": runs})
    else:
        _show(went, runs)


def _runs(settings: Settings, older_than_days: float, *, dry_run: bool) -> int | None:
    url = os.environ.get("PREFECT_API_URL")
    if not url:
        return None
    reach_server(url, otherwise="unset PREFECT_API_URL to prune the store alone")
    prefect_environment.apply(make_home(settings.home))
    from flows.prune import prune_runs

    with asking_server():
        return prune_runs(older_than_days=older_than_days, dry_run=dry_run)


def _show(went: PruneReport, runs: int | None) -> None:
    verb = "would go" if went.dry_run else "went"
    results.print(
        f"{counted(went.objects, 'object')} and {went.leftovers} left behind {verb}, "
        f"{went.n_bytes / 1e6:.1f} MB"
    )
    for name in went.plans:
        results.print(f"unfinished and long untouched: {name} {verb}", markup=False)
    results.print(f"{went.kept} are named by plans, {went.young} are not and not old enough yet")
    if went.unlisted:
        results.print(
            f"encoded pieces all stay: {counted(len(went.unlisted), 'plan')} of an earlier loudr "
            "must be rendered again first, such as " + went.unlisted[0],
            markup=False,
        )
    if runs is not None:
        results.print(f"{counted(runs, 'run')} {verb} from Prefect's records")
