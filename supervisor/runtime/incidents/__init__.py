"""Incidents on their way to people: the log, the feed, notifications.

delivered      the last incident each channel has delivered, on disk, so that delivery resumes after a crash
feed           the incident log as the daemon uses it
log            the incident log
notifications  notification of people about incidents and waiting actions
"""
