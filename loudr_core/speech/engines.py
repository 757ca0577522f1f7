"""The names of the engines, and where each is opened. Imports nothing: help texts list them."""

__all__ = ["ENGINES", "OFFERED"]

ENGINES = {
    "embedded": "loudr_core.speech.embedded:open_embedded",
    "loudr1": "loudr_core.speech.loudr1.engine:open_loudr1",
    "koko": "loudr_core.speech.koko.engine:open_koko",
    "sanotts": "loudr_core.speech.sanotts.engine:open_sanotts",
    "bluetts": "loudr_core.speech.bluetts.engine:open_bluetts",
    "fake": "loudr_core.testing:open_fake",
}
"""Name to factory, as `module:function`. A factory takes `bundle`, `provider` and its options."""

OFFERED = tuple(name for name in ENGINES if name != "fake")
"""Names that people are told; the engine of tones is for tests, and answers to its name only."""
