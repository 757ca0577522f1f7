"""Samples: trimming, detectors, stitching, loudness, mastering."""
