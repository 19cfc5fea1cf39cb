"""Pure: one session of an agent, the board of all, and the fold that rebuilds both from the journal."""
