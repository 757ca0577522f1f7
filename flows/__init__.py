"""The order in which things run: Prefect flows, the command line, the catalogue of deployments."""

from flows import served

served.watch()
