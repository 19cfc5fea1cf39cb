from supervisor.runtime.clock import SETTLING_SECONDS, Clock, SteadyTime


def test_mono_never_goes_back() -> None:
    clock = Clock()
    readings = [clock.mono() for _ in range(1000)]
    assert readings == sorted(readings)


def test_wall_is_unix_time() -> None:
    assert Clock().wall() > 1_700_000_000


def test_a_boot_has_one_id() -> None:
    assert Clock().boot_id() == Clock().boot_id()
    assert len(Clock().boot_id()) == 36


class SetClock(Clock):
    """A clock whose two hands are set."""

    at, since = 1_000_000.0, 0.0

    def wall(self) -> float:
        return self.at

    def mono(self) -> float:
        return self.since

    def pass_(self, seconds: float) -> None:
        self.at += seconds
        self.since += seconds


def test_nothing_is_old_before_a_clock_has_run_for_an_hour() -> None:
    clock = SetClock()
    time = SteadyTime(clock)
    clock.pass_(SETTLING_SECONDS - 1)
    assert time.now() == 0
    clock.at -= 500_000  # it was ahead, and is set right
    clock.pass_(1)
    assert time.now() == clock.at


def test_a_clock_that_is_set_ahead_makes_nothing_older_and_one_that_is_set_back_makes_it_younger() -> None:
    clock = SetClock()
    time = SteadyTime(clock)
    clock.pass_(SETTLING_SECONDS)
    right = time.now()
    clock.at += 86_400 * 365
    clock.pass_(60)
    assert time.now() == right + 60
    clock.at = right - 1_000
    assert time.now() == right - 1_000
