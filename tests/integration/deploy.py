"""Make the work pool and the deployment of shards, as an operator's program would."""

import os
import sys

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.utilities.callables import parameter_schema

from flows.render_shard import render_shard

work_pool = sys.argv[1]
with get_client(sync_client=True) as client:
    client.create_work_pool(WorkPoolCreate(name=work_pool, type="process"))
    flow_id = client.create_flow(render_shard)
    client.create_deployment(
        flow_id,
        "render-shard",
        work_pool_name=work_pool,
        entrypoint="flows.render_shard.render_shard",
        pull_steps=[
            {"prefect.deployments.steps.set_working_directory": {"directory": os.environ["EMPTY"]}}
        ],
        parameter_openapi_schema=parameter_schema(render_shard).model_dump(),
        enforce_parameter_schema=True,
    )
