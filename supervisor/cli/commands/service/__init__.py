"""Commands about the daemon, and what it tells others.

dashboard  the command that prints the dashboard for Grafana
doctor     the command that says what works on this machine, and how to mend the rest
export     records for other programs, in the form that `audit.export_format` says
keys       the command about the keys by which records are encrypted
notify     the command that lists the notification channels, and tests them
serve      the command that is the daemon
"""
