"""Incidents on their way to people: the log, the feed, notifications.

delivered      up to which incident each channel has told of all, on disk
feed           the incident log as the daemon uses it
log            the incident log
notifications  telling people of incidents, and of actions that wait for them, through channels
"""
