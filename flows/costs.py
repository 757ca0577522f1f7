"""What a render costs: seconds that engines worked, times the price of an hour of them."""

from dataclasses import dataclass
from typing import Any

from loudr_core.render.progress import Counts

__all__ = ["Price", "Spent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of an hour of one engine process; None when nobody named it."""

    per_hour: float | None = None
    currency: str = ""

    def of(self, engine_s: float) -> float | None:
        """Return the cost of so many engine seconds."""
        return None if self.per_hour is None else engine_s * self.per_hour / 3600

    def words(self, engine_s: float) -> str:
        """Return that cost for people; empty without a price."""
        cost = self.of(engine_s)
        if cost is None:
            return ""
        if 0 < cost < 0.0001:
            return f"under 0.0001 {self.currency}".rstrip()
        return f"{cost:.{2 if cost >= 0.1 or not cost else 4}f} {self.currency}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a render took of the engines, and what it takes yet.

    Parameters
    ----------
    engine_s : float
        Seconds that engines worked for this run.
    left_s : float
        Engine seconds to come, at the pace so far; 0 before the first take.
    price : Price
    """

    engine_s: float
    left_s: float = 0.0
    price: Price = Price()

    @classmethod
    def of(cls, counts: Counts, price: Price) -> "Spent":
        """Return what a moment of a render says."""
        pace = counts.compute_s / counts.audio_s if counts.audio_s else 0.0
        return cls(engine_s=counts.compute_s, left_s=counts.audio_left_s * pace, price=price)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form: `engine_s`, and `cost` with its `currency` when there is one."""
        said: dict[str, Any] = {"engine_s": round(self.engine_s, 1)}
        cost = self.price.of(self.engine_s)
        if cost is not None:
            said |= {"cost": round(cost, 4), "currency": self.price.currency}
        return said
