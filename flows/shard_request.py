"""Parameters of `render-shard`: what a machine must know to speak a stretch of a book."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from loudr_core.jobs.plan import plan_folder
from loudr_core.render.shard_files import engine_folder
from loudr_core.speech.wire import EngineSpec

__all__ = ["ShardEngine", "ShardRequest"]

_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class ShardEngine(BaseModel):
    """The engine that speaks, as the render's profile has it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: str = Field(min_length=1, max_length=64, description="Name of the engine.")
    bundle: str | None = Field(
        default=None,
        description="Folder of the model; `LOUDR_BUNDLE` of the worker comes before it, for a "
        "voice of the cast `LOUDR_VOICES__NAME__BUNDLE`.",
    )
    provider: str = Field(default="cpu", max_length=32, description="cpu or cuda.")
    voice: str = Field(
        default="",
        max_length=64,
        description="Voice of the profile that has this engine; empty for the book's own.",
    )
    options: dict[str, Any] = Field(default_factory=dict, description="The engine's own options.")
    detectors: dict[str, Any] = Field(
        default_factory=dict, description="Thresholds that differ from the detectors' own."
    )


class ShardRequest(BaseModel):
    """One shard to speak; without a book, an engine to describe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    store: str = Field(min_length=1, description="Folder or s3://bucket/prefix of the store.")
    engine: ShardEngine
    owner: str = Field(pattern=_ID, max_length=64, description="Whoever gave the shard out.")
    book_id: str = Field(default="", max_length=128, description="Empty: describe the engine.")
    plan_id: str = Field(default="", max_length=64)
    shard: int = Field(default=0, ge=0, le=9999, description="Number of the shard.")
    attempt: int = Field(default=1, ge=1, le=99, description="Which run of the shard this is.")
    fingerprint: str = Field(
        default="",
        max_length=128,
        description="Of the engine that the plan was made for; a worker of another kind refuses.",
    )

    @model_validator(mode="after")
    def _whole(self) -> "ShardRequest":
        if bool(self.book_id) != bool(self.plan_id):
            raise ValueError("book_id and plan_id go together")
        return self

    @property
    def spec(self) -> EngineSpec:
        """What an engine process is to load."""
        return EngineSpec(
            engine=self.engine.engine,
            store_url=self.store,
            policy=self.engine.detectors,
            bundle=self.engine.bundle,
            provider=self.engine.provider,
            options=self.engine.options,
        )

    @property
    def folder(self) -> str:
        """The store prefix below which orders and journal lie."""
        if not self.book_id:
            return engine_folder(self.spec)
        return plan_folder(self.book_id, self.plan_id)

    @property
    def key(self) -> str:
        """The same for the same run, however often it is asked for."""
        what = self.plan_id or self.folder
        return f"{what}:{self.shard}:{self.attempt}:{self.owner}"

    @property
    def run_name(self) -> str:
        """What a person reads in a list of runs."""
        if not self.book_id:
            return f"describe {self.engine.engine}, try {self.attempt}"
        engine = f" by {self.engine.engine}" if self.engine.voice else ""
        return f"{self.book_id} shard {self.shard:03d}{engine}, try {self.attempt}"
