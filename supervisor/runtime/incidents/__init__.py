"""Incidents on their way to people: the log, the feed, notifications.

delivered      up to which incident each channel has told of all, on disk
feed           the incident log as the daemon uses it
log            the incident log
notifications  notification of people about incidents and waiting actions
"""
