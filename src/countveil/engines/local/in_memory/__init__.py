"""A release held in memory as codes."""
