"""Where rows are kept until they are written: in memory, or encrypted on disk; and threads."""
