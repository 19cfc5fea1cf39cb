"""The daemon's own log: what it does, for whoever runs it, on standard error. What agents do is in the journal."""

import logging

log = logging.getLogger("chaperon")

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}


def start_log(level: str) -> None:
    """Say what is worth it on standard error, without times: the service manager's journal adds its own."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname).1s %(message)s")
    log.setLevel(LEVELS[level])
