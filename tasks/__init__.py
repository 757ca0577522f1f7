"""One Prefect task per step; each body is one call into loudr_core."""
