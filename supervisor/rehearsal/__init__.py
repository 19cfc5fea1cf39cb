"""A scripted model, and scenarios that play it to the real CLI under a given policy."""
