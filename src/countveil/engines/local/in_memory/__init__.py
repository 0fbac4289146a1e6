"""A release that is asked often, in memory as codes."""
