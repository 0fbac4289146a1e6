"""Looking at a table before anything is published: columns, their roles, who could be linked."""
