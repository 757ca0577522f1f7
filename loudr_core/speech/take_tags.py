"""What a stored take says of itself, read without a look at its samples."""

import json
import logging

from loudr_core.audio.takefile import read_tags
from loudr_core.errors import StoreError
from loudr_core.speech.orders import TakeResult, audio_key
from loudr_core.speech.wire import result_from_json
from loudr_core.store.protocol import ObjectStore

__all__ = ["ENGINE_FINDINGS_TAG", "RESULT_TAG", "tagged_result"]

RESULT_TAG = "loudr_result"
"""Holds the result row, as JSON."""
ENGINE_FINDINGS_TAG = "loudr_engine_findings"
"""Holds what the engine itself found, as JSON."""

_log = logging.getLogger(__name__)


def tagged_result(store: ObjectStore, take_key: str) -> TakeResult | None:
    """Return the row that a stored take carries, as it was made; None when there is none to read.

    Its detectors' findings are those of the policy of that time.
    """
    data = store.get(audio_key(take_key))
    if data is None:
        return None
    try:
        return result_from_json(json.loads(read_tags(data)[RESULT_TAG]))
    except (StoreError, KeyError, ValueError, TypeError) as error:
        _log.warning("take %s does not say how it was made: %s", take_key, error)
        return None
