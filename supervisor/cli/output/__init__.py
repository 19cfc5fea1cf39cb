"""The output of commands: words, tables, charts and files, and the one way to the terminal.

agent_words     facts about an agent for people
charts          charts as SVG: bars, and lines over time
event_lines     the lines that people read of each kind of event
html_file       HTML files that need nothing else
incident_words  the full report of an incident for people
progress        progress of long work: a line on a terminal, few lines elsewhere
settings_words  settings of a repository, described for people
tables          tables that fit their contents and the terminal
terminal        the only output of commands to the terminal
times           times as people write them
view            events of the journal as lines for people
words           text of others as commands show it
"""
