"""From a release to answers."""
