"""The daemon's own log on standard error, for its operator. The journal has the agents' acts."""

import logging
from collections.abc import Callable

from monitors.contract.words import Severity
from supervisor.protocol.plain import harmless

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}

LOGGED_AS = {
    Severity.LOW: logging.INFO,
    Severity.MEDIUM: logging.WARNING,
    Severity.HIGH: logging.ERROR,
    Severity.CRITICAL: logging.ERROR,
}
"""The level of the log at which an incident of each severity is told."""


_mask: list[Callable[[str], str]] = [str]
"""Masks a message; nothing does before a daemon says."""


def mask_log(mask: Callable[[str], str] = str) -> None:
    """Have secrets masked in what is logged from here on."""
    _mask[0] = mask


class Plain(logging.Filter):
    """Makes records plain: names and texts of agents are in them, and the log is read in terminals."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the record pass, with acting characters as escapes, and lines after the first indented."""
        record.msg, record.args = harmless(_mask[0](record.getMessage())).replace("\n", "\n  "), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = harmless(_mask[0](logging.Formatter().formatException(record.exc_info)))
        return True


log = logging.getLogger("chaperon")
log.addFilter(Plain())


def start_log(level: str) -> None:
    """Say what is worth it on standard error, without times: the service manager's journal adds its own."""
    start_log_at(LEVELS[level])


def start_log_at(level: int) -> None:
    """Say what is worth it, as `start_log` does, in another process of the daemon."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname).1s %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(Plain())  # for what libraries say
    log.setLevel(level)
