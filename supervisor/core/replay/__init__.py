"""Recorded runs played again: transcripts of the CLI, and the daemon's own journal.

journal_replay     recorded journals: each agent's events through the same fold as the live run, so that the findings
                   are the same
transcript_replay  a recorded session through reviewer and detectors, offline, as the live core would have seen it
transcripts        recorded sessions, line by line, in all the forms in which they are found
use                an agent's use over time: cost, tokens, context, memory, processes
windows_paths      recordings from Windows, with their paths as Unix has them
"""
