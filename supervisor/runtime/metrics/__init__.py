"""The metrics of the daemon: their names, their counters, and their text.

exposition    the metrics as text, with values from files
gathering     the metrics of the daemon at one moment, gathered for their text
metric_table  the names of all metrics
metrics       the daemon's counters, as Prometheus reads them
"""
