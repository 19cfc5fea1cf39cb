"""Base risks, by name, so that the tables agree on what a number means."""

READS = 0.0
"""Changes nothing."""
NOTED = 0.1
"""Changes something that everyday work changes: a file in place, an index, a cache."""
MINOR = 0.2
"""Changes something beyond the files at hand, and is easily undone: an installed package, a started container."""
MODERATE = 0.35
"""Changes something shared, or deletes by name what was named on purpose."""
CARE = 0.55
"""Somebody should think first: checks skipped, a service stopped, a secret shown. Above the usual warning line."""
HARM = 0.8
"""Destroys what cannot be brought back, or hands control away. Above the default threshold."""
DOOM = 0.95
"""The machine, the account or the guard itself."""
