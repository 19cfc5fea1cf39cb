"""Where paths lie."""

import pytest

from monitors.contract.actions import Action, ReviewContext
from monitors.review.scene.lookups import Kind, NoFiles
from monitors.review.scene.places import ActionPlaces, Place

ACTION = Action("Bash", {}, "/home/agent/work/sub", "/home/agent/work")
CONTEXT = ReviewContext(
    home="/home/agent", protected=("/home/agent/.local/state/chaperon",), environment={"TMPDIR": "/scratch/agent"}
)


def place(path: str, *, strict: bool = False) -> Place:
    places = ActionPlaces(ACTION, CONTEXT, NoFiles(), strict=strict, writable=("/srv/cache",))
    return places.place(places.absolute(path))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.txt", Place.WORKSPACE), ("../a.txt", Place.WORKSPACE), ("../../a.txt", Place.HOME), ("/home/agent/work", Place.WORKSPACE), ("/home/agent/workshop", Place.HOME), ("~/x", Place.HOME), ("~", Place.TOP), ("~/", Place.TOP), ("~bob/x", Place.HOME), ("~bob", Place.TOP),
        ("/", Place.TOP), ("/*", Place.TOP), ("/etc", Place.TOP), ("/home/", Place.TOP), ("/etc/hosts", Place.SYSTEM), ("/usr/share/x", Place.SYSTEM), ("/etc/cron.d/x", Place.STARTUP), ("~/.bashrc", Place.STARTUP), ("~/.ssh/authorized_keys", Place.STARTUP), ("../.git/hooks/pre-commit", Place.STARTUP),
        ("/tmp/x", Place.SCRATCH), ("/tmp", Place.TOP), ("/tmp/../etc/x", Place.SYSTEM), ("/var/tmp/x", Place.SCRATCH), ("/scratch/agent/x", Place.SCRATCH), ("/srv/cache/x", Place.WORKSPACE), ("/dev/null", Place.NOWHERE), ("/dev/sda", Place.DEVICE), ("/mnt/x", Place.OTHER), ("~/.cache/x", Place.CACHE), ("~/.claude/plans/brave-otter.md", Place.CACHE), ("~/.claude/projects/-home-agent-work/memory/MEMORY.md", Place.CACHE),
        ("~/.local/state/chaperon/x", Place.PROTECTED), ("~/.claude/settings.json", Place.PROTECTED), (".claude/settings.local.json", Place.PROTECTED), ("~/.claude/projects/x", Place.HOME), ("~/.claude/projects/x/memory", Place.HOME), ("~/.claude/projects/x/s.jsonl", Place.HOME), ("//etc//hosts", Place.SYSTEM), ("a" * 10_000, Place.WORKSPACE),
    ],
)  # fmt: skip
def test_every_path_has_its_place(path: str, expected: Place) -> None:
    assert place(path) is expected


@pytest.mark.parametrize("home", ["/srv/agent", "/tmp/run/home", "/var/lib/ci", "/home/ann/containers/agent"])
def test_a_home_that_lies_elsewhere_has_the_same_places(home: str) -> None:
    places = ActionPlaces(ACTION, ReviewContext(home=home), NoFiles(), strict=False)
    for path, expected in (("~/.cache/x", Place.CACHE), ("~/.bashrc", Place.STARTUP), ("~/x", Place.HOME)):
        assert places.place(places.absolute(path)) is expected, path
    assert places.place(f"{home}er/.cache/x") is not Place.CACHE


def test_in_the_strict_profile_nothing_is_in_a_workspace() -> None:
    assert place("a.txt", strict=True) is Place.HOME
    assert place("/tmp/x", strict=True) is Place.SCRATCH


class Linked(NoFiles):
    def real(self, path: str) -> str:
        return path.replace("/home/agent/work/link", "/etc")

    def kind(self, path: str) -> Kind:
        return "file" if path else "missing"


def test_a_link_counts_as_where_it_leads_if_that_is_worse() -> None:
    places = ActionPlaces(ACTION, CONTEXT, Linked(), strict=False)
    assert places.place("/home/agent/work/link/hosts") is Place.SYSTEM
    assert places.place("/home/agent/work/other") is Place.WORKSPACE


@pytest.mark.parametrize(
    "path",
    [
        "/etc/shadow",
        "/etc/shadow-",
        "/home/u/.ssh/id_rsa",
        "/home/u/.aws/credentials",
        "/proc/1/environ",
        "/root/.netrc",
        "/home/u/.config/gh/hosts.yml",
        "/run/secrets/x",
        "/home/u/.gnupg/x",
    ],
)
def test_secrets_are_known(path: str) -> None:
    assert ActionPlaces(ACTION, CONTEXT, NoFiles(), strict=False).secret(path)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/home/u/.ssh/id_rsa.pub",
        "/home/u/.ssh/config",
        "/home/u/shadow.txt",
        "/home/u/.env.example",
        "/w/token.py",
    ],
)
def test_what_only_sounds_like_one_is_none(path: str) -> None:
    places = ActionPlaces(ACTION, CONTEXT, NoFiles(), strict=False)
    assert not places.secret(path)
    assert not places.project_secret(path)
