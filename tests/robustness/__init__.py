"""What must not happen: wrong refusals, leftovers, leaks, crashes. Through the real command."""
