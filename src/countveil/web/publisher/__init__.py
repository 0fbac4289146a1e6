"""The publisher's pages: from a table to a release that was attacked before it is handed over."""
