"""`loudr voices`."""

from rich.markup import escape
from rich.table import Table

from flows.configuration import Settings
from flows.output import print_json, results
from loudr_core.speech.registry import open_engine

__all__ = ["run"]


def run(settings: Settings, *, json_out: bool) -> None:
    """Load the engine and list its voices."""
    engine = open_engine(
        settings.engine, bundle=settings.bundle, provider=settings.provider, **settings.options
    )
    if json_out:
        print_json(
            {
                "engine": engine.name,
                "voices": [
                    {
                        "name": voice.name,
                        "language": voice.language,
                        "description": voice.description,
                        "licence": voice.licence,
                        "sha256": voice.sha256,
                    }
                    for voice in engine.voices()
                ],
            }
        )
        return
    table = Table(box=None, pad_edge=False)
    for column in ("voice", "language", "licence", "description"):
        table.add_column(column)
    for voice in engine.voices():
        said = (voice.name, voice.language, voice.licence, voice.description)
        table.add_row(*map(escape, said))
    results.print(table)
