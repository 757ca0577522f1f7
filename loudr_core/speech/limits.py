"""What each engine takes in one request and costs, known without loading it.

A parent decides from these how many processes to start, while nothing of an engine is imported yet.
"""

from loudr_core.speech.protocol import EngineLimits

__all__ = ["BLUETTS", "EMBEDDED", "FAKE", "KOKO", "LOUDR1", "SANOTTS"]

EMBEDDED = EngineLimits(
    max_characters=1200,
    # Real-time factor by phonemes in a pass: 0.0077 to 0.0080 from 60 to 350, 0.0087 at 400, 0.0090
    # at 525; a phoneme is a character almost exactly. Longer passes also fade the pauses between
    # sentences into one another.
    target_characters=280,
    languages=frozenset({"en"}),
    max_seconds=240.0,
    # 80 sentences of a novel, 30 to 280 characters, edges trimmed: 0.039 to 0.064, median 0.055.
    # Short ones reach 0.08 at 9 characters and 0.16 at 3, which the policy's slack covers.
    seconds_per_character=(0.035, 0.085),
    # Resident size after passes of up to 350 phonemes: 394 MiB.
    peak_memory_bytes=450 * 2**20,
    # One process of two on two cores, detectors and storing included.
    real_time_factor=0.009,
)

FAKE = EngineLimits(
    max_characters=400,
    target_characters=120,
    languages=frozenset({"en", "de"}),
    max_seconds=60.0,
    seconds_per_character=(0.04, 0.09),
    peak_memory_bytes=150 * 2**20,
)

LOUDR1 = EngineLimits(
    max_characters=600,
    # A chunk of at most 127 characters is one window, and a window costs the renderer the same
    # however little it holds. Sentences are packed up to here, so nearly all are one window.
    target_characters=120,
    # The languages that the tokenizer has a tag for (loudr-1 specification, section 6), and the two
    # written norms of Norwegian, which books are tagged with.
    languages=frozenset(
        {"da", "de", "en", "es", "fi", "fr", "it", "nb", "nl", "nn", "no", "pl", "pt", "sv"}
    ),
    # 600 characters are at most ten chunks, each two windows of 10.2 s when cut again, at half the
    # pace.
    max_seconds=410.0,
    # 25 tokens a second. Speech cannot stop before 1.2 tokens a text token (0.05 s), of which a
    # byte-pair token may hold two characters and the silence at the edges is trimmed; rows of more
    # than 4 tokens a text token (0.16 s) and 40 are stopped.
    seconds_per_character=(0.03, 0.16),
    # Resident size with a bundle of the released size, after a window: 3.2 GiB, turbo 2.8.
    peak_memory_bytes=7 * 2**29,
    # One thread: the renderer takes 14 s for a window, the tokens 1.4 s a second; 7.5 s in it.
    real_time_factor=3.2,
)

KOKO = EngineLimits(
    # No limit is published; the training sentences are of this length (Koko specification, 5).
    max_characters=200,
    target_characters=140,
    languages=frozenset({"en"}),
    # 200 characters at the slowest pace that is not suspect and half the speed.
    max_seconds=80.0,
    seconds_per_character=(0.03, 0.20),
    # Estimated, no released graph was at hand: 24.6 million weights (Koko specification, section 1)
    # and 13.5 million of the vocoder (the page of vocos-mel-24khz) are 153 MB in single precision,
    # twice that while a session opens; the rest is room for the activations of 4,000 frames, of
    # which nothing is published.
    peak_memory_bytes=2**30,
    # No real-time factor is published: none is stated, and a plan says no time for it.
)

SANOTTS = EngineLimits(
    # A sentence is one call of the model, and a unit may hold several.
    max_characters=800,
    target_characters=240,
    # Voices that are known of (sanoTTS specification, section 9); a package has one of them, or
    # another one, and its engine says which.
    languages=frozenset({"de", "en", "hi", "id", "ne", "vi", "zh"}),
    # 800 characters at the slowest pace that is not suspect and half the speed.
    max_seconds=260.0,
    # No released German voice was at hand: a band around the pace of Piper voices, 0.05 to 0.09.
    seconds_per_character=(0.03, 0.16),
    # Resident size after 64 s in one pass, with a package of the released size and without a
    # phonemiser: 352 MiB.
    peak_memory_bytes=420 * 2**20,
    # One thread, a package of the released size: 0.05 to 0.07, students included.
    real_time_factor=0.07,
)

BLUETTS = EngineLimits(
    max_characters=500,
    # A pass is at most 240 tokens, and stress and length marks make IPA longer than the words. The
    # predicted length is steady up to 135 tokens and saturates towards 15 s (BlueTTS specification,
    # section 4).
    target_characters=150,
    languages=frozenset({"de", "en", "es", "he", "it", "ru", "yi"}),
    # 500 characters at the slowest pace that is not suspect and half the speed.
    max_seconds=130.0,
    # 0.042 to 0.046 s a token were published for one voice, about as much a character.
    seconds_per_character=(0.03, 0.13),
    # Estimated, no released graph was at hand: the four graphs are 263 MB (BlueTTS specification,
    # section 1), twice that while a session opens. The duration predictor needs 2.2 GB for 2,200
    # tokens and goes with their square (section 4), so 26 MB for 240; the rest is room for the
    # activations of 16 s, of which nothing is published.
    peak_memory_bytes=3 * 2**29,
    # No real-time factor is published: none is stated, and a plan says no time for it.
)
