"""The library: books in, segments, takes and audiobooks out; no Prefect, argv or environment."""
