"""The library: books in, segments, takes and audiobooks out. No Prefect, no argv, no environment."""
