"""Long reads for clients, in a process of their own and not in the loop that answers the gate.

The daemon takes a request, checks it, and hands the connection over with a job; the process answers it from files.

answers          HTTP as the reading process speaks it
checkpoint_list  the list of checkpoints as readers ask for it
gate_reviews     reviews of agents' actions, which the gate's own loop has no time for
handing_over     handing a connection over
incident_lines   the incident log's lines as readers ask for them
jobs             jobs of the daemon for its reading process
journal_lines    the journal's lines as readers ask for them
process          the reading process
progress         how far the files have come, as the daemon tells it, and waiting for more of it
reader           the daemon's side of reading
reviews          reviews of actions without an agent
use              an agent's use over time
"""
