"""Attacks on our own releases, one file each."""
