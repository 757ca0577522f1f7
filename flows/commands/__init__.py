"""What each command of `loudr` does; `flows.cli` holds their arguments."""
