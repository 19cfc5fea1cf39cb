"""The record that nothing is lost from: written, synced, read, repaired.

errors          why the journal takes no more
index           an index of a journal's file
journal         the journal
lock            one daemon for one state directory
past_agents     agents whose end a journal has
reader          the journal's files, read
recovery        what a start finds in the journal
segment_writer  the journal's files, written
snapshots       the snapshot
sync_thread     the thread that syncs the journal's file, so that no write waits for a sync
waiters         coroutines of one event loop that wait for what a thread does
writer          the thread that writes the journal
"""
