"""The metrics of the daemon: their names, their counters, and their text.

exposition    the metrics as text, with values from files
metric_table  the names of all metrics
metrics       the daemon's counters, as Prometheus reads them
"""
