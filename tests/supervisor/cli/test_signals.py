import os
import signal
import socket

import pytest

from supervisor.cli.signals import REASONS, Signals


@pytest.mark.parametrize("number", REASONS)
def test_a_signal_ends_a_wait_and_is_kept_until_somebody_deals_with_it(number: signal.Signals) -> None:
    here, there = socket.socketpair()
    with here, there, Signals() as signals:
        os.kill(os.getpid(), number)
        assert signals.wait(here, 5.0)
        assert signals.pressed == [number]
        there.send(b"!")
        assert not signals.wait(here, 5.0)
        with pytest.raises(TimeoutError):
            signals.wait(None, 0.01)


def test_what_signals_did_before_they_do_again_afterwards() -> None:
    before = [signal.getsignal(number) for number in REASONS]
    with Signals():
        assert [signal.getsignal(number) for number in REASONS] != before
    assert [signal.getsignal(number) for number in REASONS] == before


def test_the_journal_is_told_which_signal_it_was() -> None:
    assert REASONS[signal.SIGINT] == "Ctrl+C"
    assert "terminal of its run was closed" in REASONS[signal.SIGHUP]


def test_a_reader_that_leaves_ends_a_wait_in_which_nothing_comes() -> None:
    ours, theirs = os.pipe()
    try:
        with Signals() as signals:
            with pytest.raises(TimeoutError):
                signals.first(None, None, 0, theirs)
            os.close(ours)
            with pytest.raises(BrokenPipeError):
                signals.first(None, None, None, theirs)
            os.kill(os.getpid(), signal.SIGINT)
            assert signals.first(None, None, None, theirs) == "signal"
    finally:
        os.close(theirs)
