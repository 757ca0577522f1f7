"""Where a shard runs: in this process, in local engine processes, in a pool of workers."""
