"""The board in a terminal: all agents, what waits for a person, and what steers them, on 80 by 24 characters.

app      the full-screen application
asking   dialogs that ask for a line of text
command  `chaperon top`
reading  requests to the daemon, and rows of the board
screens  the screens of one agent: its timeline, and the content of its changes
"""
