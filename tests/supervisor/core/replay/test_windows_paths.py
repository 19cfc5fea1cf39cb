import pytest

from supervisor.core.replay.windows_paths import is_windows, posix


@pytest.mark.parametrize(
    ("field", "written", "read"),
    [
        ("file_path", r"D:\shop\src\my cart.py", "/d/shop/src/my cart.py"),
        ("path", "D:/shop/src", "/d/shop/src"),
        ("file_path", r"C:\Users\ann\.claude\plans\otter.md", "/Users/ann/.claude/plans/otter.md"),
        ("cwd", r"C:\Users\ann\AppData\Local\Temp\claude\x", "/tmp/claude/x"),
        ("command", r'cd D:\shop && type "C:\Users\ann\.env"', 'cd /d/shop && type "/Users/ann/.env"'),
        ("command", "rm -rf D:/shop/build /c/Users/ann/AppData/Local/Temp/x", "rm -rf /d/shop/build /tmp/x"),
        ("command", "curl https://example.org:8080/a ann@host:/srv", "curl https://example.org:8080/a ann@host:/srv"),
        ("content", r"D:\shop", r"D:\shop"),
    ],
)
def test_paths_are_rewritten_where_a_call_has_them_and_nowhere_else(field: str, written: str, read: str) -> None:
    assert posix(field, written) == read


def test_windows_is_known_by_its_drive() -> None:
    known = [is_windows(cwd) for cwd in (r"D:\shop", "D:/shop", "/d/shop", "shop", "")]
    assert known == [True, True, False, False, False]
