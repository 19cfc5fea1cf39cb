from monitors.signals.lru import Recent


def test_what_is_new_is_told_from_what_was_seen() -> None:
    recent: Recent[str] = Recent(10)
    assert [recent.add(item) for item in "aba"] == [True, True, False]
    assert "a" in recent
    recent.clear()
    assert len(recent) == 0


def test_the_one_longest_unseen_is_forgotten_first() -> None:
    recent: Recent[str] = Recent(2)
    for item in "abac":
        recent.add(item)
    assert ("a" in recent, "b" in recent, "c" in recent) == (True, False, True)
