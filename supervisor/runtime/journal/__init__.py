"""The record that nothing is lost from: written, synced, read, repaired.

writing/      the thread that writes the journal and syncs it, and who waits for it
archive       the archive of ended agents
base          the base of a journal whose beginning was removed
cutting       the journal kept short
errors        why the journal takes no more
forgetting    records of a forgotten agent, taken out
index         an index of a journal's file
journal       the journal: every event, in order, once, on disk before anything follows from it
lock          one daemon for one state directory
mending       lines that are not what was written, put aside at the cost of their agents alone
past_agents   agents whose end a journal has, found while its lines are checked
reader        the journal's files, read
recovery      the check of the journal at a start
signing       the key that signs the journal's lines, and from which line on they are signed
snapshots     the snapshot: the state at one moment, so that a start need not fold the whole journal
verification  a check of the whole journal for a person
"""
