"""The thread that writes the journal and syncs it, and who waits for it.

segment_writer  writing of the journal's files
sync_thread     the thread that syncs the journal's file, so that no write waits for a sync
waiters         coroutines and calls of one event loop that wait for what a thread does
writer          the thread that writes the journal
"""
