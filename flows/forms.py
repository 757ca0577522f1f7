"""What the forms of the scheduled flows ask for in the Prefect UI.

The server accepts names that a flow does not know, and the run then crashes. So every flow takes
one `request`, whose model refuses such a name in one line.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "ApproveRequest",
    "DropRequest",
    "DroppedRequest",
    "NightlyRequest",
    "PruneRequest",
    "RerenderRequest",
    "TicketForm",
]

_Text = Annotated[str, Field(min_length=1, max_length=1024)]
_Clock = Annotated[str, Field(pattern="^([01]?[0-9]|2[0-3]):[0-5][0-9]$")]
_Seed = Annotated[str, Field(pattern="^[0-9]{1,20}$")]

_DEST = "Folder or s3://bucket/prefix for the finished files; only loudr's store when empty."
_PROFILE = "A shipped profile, such as audiobook or acx, or a TOML file of this machine."
_VOICE = "A voice of the engine; the profile's own when empty."
_STORE = (
    "Where plans, takes and results lie: a folder or s3://bucket/prefix; the default when empty."
)
_BOOK_ID = "As `loudr status` lists it; a unique start will do."


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NightlyRequest(_Form):
    """The books of a night."""

    manifests: _Text = Field(
        default="manifests/books",
        description="Folder or s3://bucket/prefix of TOML files, one for each book.",
    )
    base: _Text | None = Field(
        default=None,
        description="Folder at which relative paths in the manifests start; the one that the run "
        "works in when empty.",
    )
    dest: _Text | None = Field(default=None, description=_DEST)
    profile: _Text | None = Field(default=None, description=f"For books that name none. {_PROFILE}")
    voice: _Text | None = Field(default=None, description=f"For books that name none. {_VOICE}")
    store: _Text | None = Field(default=None, description=_STORE)
    until: _Clock | None = Field(
        default="06:00",
        description="When to stop: the next time that clocks show this. A book that is not "
        "finished by then goes on the next night. Empty: go on until all are done.",
    )
    timezone: _Text = Field(
        default="UTC", description="Whose clocks: a name such as Europe/Berlin."
    )
    again: bool = Field(
        default=False, description="Also books that an earlier night finished as they are."
    )


class DropRequest(_Form):
    """A drop folder to look into."""

    watch: _Text = Field(
        description="Folder or s3://bucket/prefix where books arrive, with an optional sidecar "
        "such as novel.epub.toml beside each."
    )
    dest: _Text = Field(
        description="Folder or s3://bucket/prefix for the finished files, outside the drop folder."
    )
    profile: _Text | None = Field(
        default=None, description=f"For books whose sidecar names none. {_PROFILE}"
    )
    voice: _Text | None = Field(default=None, description=_VOICE)
    store: _Text | None = Field(default=None, description=_STORE)
    settle_s: float = Field(
        default=60,
        ge=0,
        le=86_400,
        description="A file is taken when it has not changed for so many seconds.",
    )
    stale_min: float = Field(
        default=10,
        ge=0,
        le=10_080,
        description="A book that was claimed and has no run after so many minutes is submitted "
        "again.",
    )
    retry_min: float = Field(
        default=5, ge=0, le=1_440, description="Minutes between two attempts at one book, at least."
    )
    attempts: int = Field(default=3, ge=1, le=10, description="Runs that a book gets, at most.")


class TicketForm(_Form):
    """One version of a dropped book: `loudr_core.queue.watch.Ticket`."""

    key: _Text
    place: str = Field(max_length=4096)
    size: int = Field(ge=0)
    version: str = Field(default="", max_length=256)
    modified_s: float
    sidecar: str = Field(default="", max_length=512)
    touched_s: float


class DroppedRequest(_Form):
    """A book from a drop folder, as the poller submits it. Not for a person to fill in."""

    ticket: TicketForm = Field(description="The version of the book, written by the poller.")
    watch: _Text = Field(description="The drop folder.")
    dest: _Text = Field(description=_DEST)
    profile: _Text | None = Field(default=None, description=_PROFILE)
    voice: _Text | None = Field(default=None, description=_VOICE)
    store: _Text | None = Field(default=None, description=_STORE)


class RerenderRequest(_Form):
    """Segments of a rendered book to speak again."""

    book_id: _Text = Field(description=_BOOK_ID)
    segments: tuple[_Text, ...] = Field(
        default=(), max_length=10_000, description="Ids of segments, such as c003-s0042."
    )
    findings: bool = Field(default=False, description="Every segment that the detectors condemned.")
    chapter: int | None = Field(
        default=None, ge=1, le=9_999, description="Every segment of this chapter."
    )
    seed: _Seed | None = Field(
        default=None,
        description="This seed for all of them, 0 to 18446744073709551615; a fresh one when empty.",
    )
    plan: _Text | None = Field(
        default=None,
        description="Which plan, if the book was rendered in several ways; a unique start will do. "
        "The one that was finished last when empty.",
    )
    dest: _Text | None = Field(default=None, description=_DEST)
    store: _Text | None = Field(default=None, description=_STORE)


class ApproveRequest(_Form):
    """A book whose first chapter is listened to before the rest is rendered."""

    book: _Text = Field(description="Path or s3://bucket/key of an EPUB, Markdown or text file.")
    dest: _Text | None = Field(default=None, description=_DEST)
    profile: _Text | None = Field(default=None, description=_PROFILE)
    voice: _Text | None = Field(default=None, description=_VOICE)
    store: _Text | None = Field(default=None, description=_STORE)
    chapter: int = Field(default=1, ge=1, le=9_999, description="The chapter to listen to.")
    wait_days: int = Field(
        default=7, ge=1, le=90, description="Days to wait for the answer; then the run fails."
    )
    allow_gaps: bool = Field(
        default=False, description="Finish although a segment has no audio, and say so in the file."
    )


class PruneRequest(_Form):
    """What has been of no use for a while."""

    store: _Text | None = Field(default=None, description=_STORE)
    older_than_days: float = Field(
        default=14,
        ge=1,
        le=3_650,
        description="Audio that no plan names, and shards, go when they are older than this.",
    )
    plans_older_than_days: float = Field(
        default=90,
        ge=1,
        le=3_650,
        description="Plans that were never rendered to the end, not even in part, go when nothing "
        "was written for them for so long; and so do entries of the drop folder's ledger.",
    )
    runs_older_than_days: float = Field(
        default=30,
        ge=1,
        le=3_650,
        description="Runs that ended longer ago than this go from Prefect's records.",
    )
    dry_run: bool = Field(default=False, description="Only say what would go.")
