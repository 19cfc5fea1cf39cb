"""Reports over a time: what agents did, what was stopped, what it cost, which rules fire and which are never right.

command   `chaperon report`
markdown  a report as Markdown
page      a report as HTML, with charts
tally     the fold of events that a report is made of
"""
