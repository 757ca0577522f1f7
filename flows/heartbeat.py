"""The automation that closes runs whose machine died: nobody else would notice.

A run says every 30 seconds that it is alive. One that has said so and then says nothing for two
minutes, not even how it ended, is set to crashed. Only loudr's flows are watched, since others may
beat more slowly.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from prefect.automations import AutomationCore, EventTrigger
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import Posture

__all__ = ["AUTOMATION", "ensure_automation", "heartbeat_automation"]

AUTOMATION = "loudr: close runs whose machine died"
_SILENT_S = 120


def heartbeat_automation(flows: Sequence[str]) -> AutomationCore:
    """Return the automation for flows of these names."""
    return AutomationCore(
        name=AUTOMATION,
        description="Sets a run of loudr to crashed when it has not been heard of for two minutes.",
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.*"},
            match={"prefect.resource.id": ["prefect.flow-run.*"]},
            match_related={
                "prefect.resource.role": ["flow"],
                "prefect.resource.name": list(flows),
            },
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=timedelta(seconds=_SILENT_S),
        ),
        actions=[
            ChangeFlowRunState(
                state=StateType.CRASHED,
                name="Crashed",
                force=False,
                message=f"not heard of for {_SILENT_S} s: its machine or process is gone",
            )
        ],
    )


def ensure_automation(flows: Sequence[str]) -> None:
    """Create the automation at `PREFECT_API_URL`, or bring it up to date; one is kept.

    One that is right is left alone, since the server forgets at a change whom it waits for.
    """
    wanted = heartbeat_automation(flows)
    client: Any
    with get_client(sync_client=True) as client:
        there = client.read_automations_by_name(AUTOMATION)
        if not there:
            client.create_automation(wanted)
            return
        if _said(there[0]) != _said(wanted):
            client.update_automation(there[0].id, wanted)
        for extra in there[1:]:
            client.delete_automation(extra.id)


def _said(automation: Any) -> Any:
    """Return what an automation does, without the names that the server gives its parts."""
    said = automation.model_dump(mode="json", include={"trigger", "actions", "enabled"})
    return _plain(said)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key != "id"}
    if isinstance(value, list):
        return sorted((_plain(each) for each in value), key=repr)
    return value
