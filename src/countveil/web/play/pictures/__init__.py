"""Pictures of play as elements of a page, whose colours are classes of /look.css and play.css."""
