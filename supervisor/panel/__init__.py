"""The panel: a web page to see and steer all agents. A process of its own, and a client of the daemon's socket.

It holds no rights: the daemon answers it as it answers the command line. Nothing else imports it.
Browsers load `static` as it is: style, and scripts of our own.

access/      the port, whose process comes there, and who signed in
pages/       the HTML of each page
acting       the routes of actions
actions      what can be done, each one request to the daemon
app          the addresses of pages, streams, actions and files
asked        what the query of an address asks for
command      `chaperon panel`
feed         the one follower of the journal, for which pages wait
grouping     agents as a board has them
link         requests to the daemon, in threads
live         streams of server-sent events that keep pages current
present      what the board shows, asked for in parts
reading      questions to the daemon that several pages ask
task_groups  stored tasks as a list has them
trials       scenarios rehearsed, and changes of the policy tried against recorded runs
"""
