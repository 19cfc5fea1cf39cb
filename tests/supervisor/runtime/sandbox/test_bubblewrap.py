"""The words for bubblewrap."""

from supervisor.runtime.sandbox.bubblewrap import Mount, Walls, read, words

MOUNTS = (
    Mount("memory", "/tmp"),
    Mount("link", "/bin", "usr/bin"),
    Mount("devices", "/dev"),
    Mount("devices", "/", "/"),
    Mount("processes", "/proc"),
    Mount("write", "/home/a/.claude", "/state/claude"),
    *read(["/usr"]),
)


def test_mounts_come_in_their_order_before_the_program() -> None:
    made = words("/usr/bin/bwrap", Walls(MOUNTS, "/w", own_network=False, memory_bytes=1024))
    assert made[0] == "/usr/bin/bwrap"
    assert " ".join(made[made.index("--size") :]) == (
        "--size 1024 --tmpfs /tmp --symlink usr/bin /bin --dev /dev --dev-bind / / --proc /proc "
        "--bind /state/claude /home/a/.claude --ro-bind /usr /usr --chdir /w --"
    )


def test_all_namespaces_but_the_networks_are_always_own_and_no_capability_is_kept() -> None:
    shared, own = (words("bwrap", Walls((), "/w", each, 1)) for each in (False, True))
    assert set(own) - set(shared) == {"--unshare-net"}
    for word in ("user", "pid", "ipc", "uts"):
        assert f"--unshare-{word}" in shared
    assert shared[shared.index("--cap-drop") + 1] == "ALL"
    assert "--die-with-parent" in shared
