"""SQL, read and written."""
