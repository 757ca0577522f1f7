"""Create automations from YAML files at `PREFECT_API_URL`, or bring them up to date by their name.

python infra/automations/apply.py infra/automations/done.yaml --deployment announce/announce
python infra/automations/apply.py infra/automations/*.yaml --block custom-webhook/loudr

The files name deployments as `flow/deployment` and notification blocks as `type/name`; Prefect
wants their ids, which differ from server to server and are looked up here.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml
from prefect.automations import AutomationCore
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound

__all__ = ["apply", "main", "with_ids"]

_FIELDS = ("deployment_id", "block_document_id")


def with_ids(said: dict[str, Any], find: Callable[[str, str], UUID]) -> dict[str, Any]:
    """Return an automation with ids in the place of names.

    Parameters
    ----------
    said : dict
        What a file holds.
    find : callable
        From a field and a name to the id; not asked for what is an id already.
    """
    actions = [
        {
            field: str(find(field, value)) if field in _FIELDS and "/" in str(value) else value
            for field, value in action.items()
        }
        for action in said["actions"]
    ]
    return {**said, "actions": actions}


def apply(said: dict[str, Any], named: dict[str, str]) -> str:
    """Create the automation or replace the one of its name; return what was done.

    Parameters
    ----------
    named : dict of str to str
        Field to the name to use in place of the file's.
    """
    with get_client(sync_client=True) as client:

        def find(field: str, value: str) -> UUID:
            name = named.get(field) or value
            if field == "deployment_id":
                return client.read_deployment_by_name(name).id
            kind, _, block = name.partition("/")
            return client.read_block_document_by_name(block, kind).id

        wanted = AutomationCore.model_validate(with_ids(said, find))
        there = client.read_automations_by_name(wanted.name)
        if there:
            client.update_automation(there[0].id, wanted)
            return f"updated  {wanted.name}"
        client.create_automation(wanted)
        return f"created  {wanted.name}"


def main() -> int:
    """Apply the files that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--deployment", help="flow/deployment to run, in place of the file's")
    parser.add_argument("--block", help="type/name of the notification block to use")
    given = parser.parse_args()
    named = {"deployment_id": given.deployment, "block_document_id": given.block}
    for file in given.files:
        try:
            said = yaml.safe_load(file.read_text(encoding="utf-8"))
            done = apply(said, {key: value for key, value in named.items() if value})
        except (ObjectNotFound, ValueError, OSError, yaml.YAMLError) as error:
            sys.stderr.write(f"{file}: {' '.join(str(error).split())}\n")
            return 1
        sys.stdout.write(f"{done}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
