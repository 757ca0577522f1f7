"""Koko-TTS: characters in, 24 kHz English out, by conditional flow matching in three graphs."""
