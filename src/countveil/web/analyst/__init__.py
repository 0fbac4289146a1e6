"""Pages of this part of the app."""
