"""Merges in memory, on real repositories beside git's own result."""

from pathlib import Path

import pytest

from monitors.contract.errors import UsageError
from supervisor.protocol.merges import ConflictLevel
from supervisor.runtime.merging.git_merge import MergeError, MergeMade, Method, Sides, make_merge, with_trailers
from tests.stages.branches import git

TRAILERS = ("Chaperon-Task: t-1", "Chaperon-Agent: a1")


def commit(repo: Path, message: str, **files: str | None) -> str:
    for name, text in files.items():
        path = repo / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", message, "--allow-empty")
    return git(repo, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    made.mkdir()
    git(made, "init", "-q", "-b", "main")
    commit(made, "first", a_txt="".join(f"{number}\n" for number in range(20)), b_txt="b\n")
    git(made, "checkout", "-qb", "work")
    return made


def merged(repo: Path, method: Method = "rebase", base: str | None = None) -> MergeMade:
    base = git(repo, "rev-list", "--max-parents=0", "main") if base is None else base
    return make_merge(Sides(project=repo, branch="work", target="main", base=base, method=method, trailers=TRAILERS))


def lines(repo: Path, **changed: str) -> str:
    text = (repo / "a.txt").read_text()
    for number, to in changed.items():
        text = text.replace(f"\n{number[1:]}\n", f"\n{to}\n")
    return text


@pytest.mark.parametrize("method", ["rebase", "merge"])
def test_the_merged_files_are_those_of_gits_own_merge(repo: Path, method: Method) -> None:
    commit(repo, "work one", a_txt=lines(repo, _3="work"), new__c_txt="c")
    commit(repo, "work two", b_txt=None)
    git(repo, "checkout", "-q", "main")
    commit(repo, "main one", a_txt=lines(repo, _15="main"), d_txt="d")
    made = merged(repo, method)
    assert (made.level, made.commits, made.by_merge_commit) == (ConflictLevel.TRIVIAL, 2, method == "merge")
    git(repo, "merge", "-q", "work", "-m", "by git")
    assert git(repo, "rev-parse", f"{made.merged}^{{tree}}") == git(repo, "rev-parse", "HEAD^{tree}")
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""


def test_each_commit_keeps_author_time_and_message_and_gets_the_trailers(repo: Path) -> None:
    when = "2020-02-02T02:02:02+0200"
    git(
        repo,
        "commit",
        "-qm",
        "work\n\nSigned-off-by: é <e@x>",
        "--allow-empty",
        "--author=Édith <e@x>",
        f"--date={when}",
    )
    commit(repo, "more", c_txt="c")
    git(repo, "checkout", "-q", "main")
    commit(repo, "main", d_txt="d")
    made = merged(repo)
    said = git(repo, "log", "-1", "--format=%an|%ae|%aI|%B", f"{made.merged}~1")
    assert said == "Édith|e@x|2020-02-02T02:02:02+02:00|work\n\nSigned-off-by: é <e@x>\n" + "\n".join(TRAILERS)


def test_nothing_to_merge_is_told_by_the_targets_own_commit(repo: Path) -> None:
    assert merged(repo).merged == git(repo, "rev-parse", "main")
    tip = commit(repo, "work", c_txt="c")
    git(repo, "checkout", "-q", "main")
    git(repo, "cherry-pick", tip)
    assert merged(repo).merged == git(repo, "rev-parse", "main")


def test_a_branch_with_merges_of_its_own_gets_a_merge_commit(repo: Path) -> None:
    git(repo, "checkout", "-q", "main")
    commit(repo, "main", d_txt="d")
    git(repo, "checkout", "-q", "work")
    commit(repo, "work", c_txt="c")
    git(repo, "merge", "-q", "main", "-m", "up to date")
    git(repo, "checkout", "-q", "main")
    commit(repo, "main two", d_txt="dd")
    made = merged(repo)
    assert made.by_merge_commit
    assert git(repo, "log", "-1", "--format=%P", made.merged).split() == [made.before, made.tip]
    assert git(repo, "log", "-1", "--format=%(trailers)", made.merged) == "\n".join(TRAILERS)


def test_after_the_target_was_rewritten_only_the_agents_own_commits_are_taken_over(repo: Path) -> None:
    git(repo, "checkout", "-q", "main")
    base = commit(repo, "a commit with a secret", secret_txt="secret")
    git(repo, "checkout", "-q", "-B", "work")
    commit(repo, "work", c_txt="c")
    git(repo, "checkout", "-q", "main")
    git(repo, "reset", "-q", "--hard", "HEAD~1")
    commit(repo, "main", d_txt="d")
    made = merged(repo, base=base)
    assert made.rewritten
    assert git(repo, "ls-tree", "-r", "--name-only", made.merged).split() == ["a.txt", "b.txt", "c.txt", "d.txt"]


@pytest.mark.parametrize(
    ("work", "main", "level", "said"),
    [
        ({"a_txt": "1"}, {"a_txt": "2"}, ConflictLevel.TEXTUAL, "main and work both changed it."),
        ({"a_txt": None}, {"a_txt": "2"}, ConflictLevel.AGENT, "work deleted or moved it, and main changed it."),
        ({"a_txt": "1"}, {"a_txt": None}, ConflictLevel.AGENT, "main deleted or moved it, and work changed it."),
        ({"n_txt": "1"}, {"n_txt": "2"}, ConflictLevel.AGENT, "main and work both made it."),
        (
            {"a_txt": "\0one"},
            {"a_txt": "\0two"},
            ConflictLevel.PERSON,
            "main and work both changed a file that is no text.",
        ),
    ],
)
def test_a_conflict_has_a_level_and_names_both_sides(
    repo: Path, work: dict[str, str | None], main: dict[str, str | None], level: ConflictLevel, said: str
) -> None:
    commit(repo, "work", **work)
    git(repo, "checkout", "-q", "main")
    commit(repo, "main", **main)
    before = git(repo, "for-each-ref")
    made = merged(repo)
    assert (made.merged, made.level) == ("", level)
    assert [one.what for one in made.conflicts] == [said]
    assert git(repo, "for-each-ref") == before


def test_a_submodule_that_both_sides_moved_needs_a_person(repo: Path) -> None:
    for branch, head in (("main", "1" * 40), ("work", "2" * 40)):
        git(repo, "checkout", "-q", branch)
        git(repo, "update-index", "--add", "--cacheinfo", f"160000,{head},lib")
        git(repo, "commit", "-qm", "lib")
    made = merged(repo)
    assert (made.level, made.conflicts[0].what) == (ConflictLevel.PERSON, "main and work both changed a submodule.")


def test_a_merge_driver_of_the_repository_is_not_run(repo: Path) -> None:
    git(repo, "config", "merge.own.driver", f"touch {repo}/ran")
    commit(repo, "work", a_txt="1", _gitattributes="* merge=own\n")
    git(repo, "checkout", "-q", "main")
    commit(repo, "main", a_txt="2", _gitattributes="* merge=own\n")
    assert merged(repo).level is ConflictLevel.TEXTUAL
    assert not (repo / "ran").exists()


def test_a_branch_or_a_repository_that_is_gone_is_told(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no branch 'gone'"):
        make_merge(Sides(project=repo, branch="work", target="gone"))
    with pytest.raises(MergeError, match="cannot be opened"):
        make_merge(Sides(project=tmp_path / "gone", branch="work", target="main"))


def test_trailers_stand_once_and_behind_those_that_are_there() -> None:
    once = with_trailers("subject", TRAILERS)
    assert once == "subject\n\nChaperon-Task: t-1\nChaperon-Agent: a1\n"
    assert with_trailers(once, TRAILERS) == once
    assert with_trailers("s: t", TRAILERS[:1]) == "s: t\n\nChaperon-Task: t-1\n"


def test_a_message_in_another_encoding_is_written_as_it_reads(repo: Path) -> None:
    git(repo, "checkout", "-qb", "work-2", "main")
    git(repo, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--allow-empty", "-m", "first")
    (repo / "new.txt").write_text("new")
    git(repo, "add", "-A")
    message = repo / ".git/message"
    message.write_bytes("Grüße\n".encode("latin-1"))
    git(repo, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "-F", str(message))
    made = make_merge(Sides(project=repo, branch="work-2", target="main", trailers=("Chaperon-Agent: a1",)))
    assert git(repo, "log", "-1", "--format=%s", made.merged) == "Grüße"
