"""Commands that have commands of their own: one module each."""
