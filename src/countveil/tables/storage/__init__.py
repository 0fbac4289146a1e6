"""Where rows wait: in memory, or encrypted on a disk."""
