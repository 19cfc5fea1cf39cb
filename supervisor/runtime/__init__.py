"""The effects: processes, journal, clock, socket. The only place that acts."""
