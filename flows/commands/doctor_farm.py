"""What `loudr doctor` says of a farm: server, deployment of shards, workers, a store with claims.

Asked for where `PREFECT_API_URL` names a server or the executor is `pool`. Nothing of Prefect is
imported: three questions over HTTP are quicker.
"""

import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any, Literal

from flows.configuration import Settings
from flows.opening import open_settings_store
from loudr_core.errors import LoudrError

__all__ = ["farm"]

_ASK_S = 10.0
_SKEW_S = 60.0
_LOGIN = (401, 403)
State = Literal["ok", "missing", "broken"]


def farm(settings: Settings) -> Iterator[tuple[str, State, str]]:
    """Yield what is looked at, how it is, and a word about it."""
    url = os.environ.get("PREFECT_API_URL", "").rstrip("/")
    pooled = settings.executor == "pool"
    if not url:
        if pooled:
            yield (
                "Prefect server",
                "broken",
                "the executor is pool, and PREFECT_API_URL names no server",
            )
        return
    try:
        _ask(f"{url}/health")
    except urllib.error.HTTPError as error:
        error.close()  # it answers, if only to those whom it knows
    except (OSError, ValueError) as error:
        yield "Prefect server", "broken", f"{url} does not answer ({_reason(error)})"
        return
    yield "Prefect server", "ok", f"{url} answers"
    yield _deployment(url, settings.pool.deployment, needed=pooled)
    yield _shared_store(settings)


def _deployment(url: str, name: str, *, needed: bool) -> tuple[str, State, str]:
    what = "workers for shards"
    lack: State = "broken" if needed else "missing"
    try:
        found = _ask(f"{url}/deployments/name/{urllib.parse.quote(name)}")
        pool = found.get("work_pool_name") or ""
        if not pool:
            return (
                what,
                lack,
                f"the deployment {name} has no work pool: `loudr deploy` gives it one",
            )
        workers = _ask(f"{url}/work_pools/{urllib.parse.quote(pool)}/workers/filter", {})
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in _LOGIN:
            return what, "missing", f"not looked for: {url} wants a login ({error.code})"
        if error.code != 404:
            return what, lack, f"{url} refused ({error.code})"
        return what, lack, f"no deployment {name}: `loudr deploy` makes it"
    except (OSError, ValueError) as error:
        return what, lack, f"{url} did not answer ({_reason(error)})"
    online = sum(worker.get("status") == "ONLINE" for worker in workers)
    start = f"prefect worker start --pool {pool} --limit 1"
    if not online:
        return what, lack, f"none is online in the pool {pool}: start one with `{start}`"
    return what, "ok", f"{online} online in the pool {pool}"


def _shared_store(settings: Settings) -> tuple[str, State, str]:
    """Look whether the store has claims with one winner, and whether its clock is ours."""
    what = "store of a farm"
    try:
        store = open_settings_store(settings)
        key = f"doctor/claim-{uuid.uuid4().hex}"
        won = [store.put_if_absent(key, name) for name in (b"one", b"two")]
        skew_s = time.time() - store.now_s()
        store.delete(key)
    except LoudrError as error:
        return what, "broken", error.message
    if won != [True, False]:
        return what, "broken", f"{store.url} lets two writers win a claim: use another S3 server"
    where = "" if "://" in store.url else "; other machines must see it at the same path"
    if abs(skew_s) > _SKEW_S:
        return (
            what,
            "missing",
            f"this clock is {skew_s:+.0f} s from the store's: nights begin and end by this one"
            f"{where}",
        )
    return what, "ok", f"claims have one winner, clocks agree{where}"


def _ask(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=_ASK_S) as answer:
        return json.load(answer)


def _reason(error: Exception) -> str:
    return " ".join(str(getattr(error, "reason", None) or error).split())
