"""Our expressions as text for each database."""
