from supervisor.runtime.clock import Clock


def test_mono_never_goes_back() -> None:
    clock = Clock()
    readings = [clock.mono() for _ in range(1000)]
    assert readings == sorted(readings)


def test_wall_is_unix_time() -> None:
    assert Clock().wall() > 1_700_000_000


def test_a_boot_has_one_id() -> None:
    assert Clock().boot_id() == Clock().boot_id()
    assert len(Clock().boot_id()) == 36
