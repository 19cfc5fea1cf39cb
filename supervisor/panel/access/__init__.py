"""Access to the panel: the port, whose process comes there, and who signed in.

door      what each request must show before any page sees it
peers     whose process a loopback connection comes from
serving   the port, and the look at each connection
sessions  one-time links, and who signed in
"""
