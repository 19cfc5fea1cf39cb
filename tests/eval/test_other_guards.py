"""Reading the tests of other guards."""

from pathlib import Path

from tests.eval.labels import judged
from tests.eval.other_guards import distinct, safety_net, sh_guard, shellfirm, table


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_commands_and_labels_are_read_out_of_clones(tmp_path: Path) -> None:
    written(tmp_path / "shellfirm/checks/a.yaml", "- {id: a:x, severity: High}\n- {id: a:y, severity: Low}\n")
    written(
        tmp_path / "shellfirm/tests/checks/a.yaml",
        "- {test: rm -rf /etc, expect_ids: ['a:x']}\n- {test: git tag, expect_ids: ['a:y']}\n- {test: ls}\n",
    )
    for name in ("analyze/edge-cases", "analyze/find", "rules-git", "rules-rm"):
        written(
            tmp_path / f"tests/core/{name}.test.ts", "assertBlocked('git reset --hard', 'x');\nassertAllowed(\"ls\");\n"
        )
    for name in ("critical", "danger", "safe", "evasion", "injection", "pipelines", "caution", "gtfobins", "zsh"):
        written(
            tmp_path / f"tests/corpus/{name}.txt",
            "# a\nls | wc | safe | 0-20\nrm -rf / | critical | 81-100\nmv a b | caution | 21-50\n",
        )
    each = [(row.command, row.deny) for row in distinct(shellfirm(tmp_path))]
    assert each == [("rm -rf /etc", True), ("ls", False)]
    assert [(row.command, row.deny) for row in distinct(safety_net(tmp_path))] == [
        ("git reset --hard", True),
        ("ls", False),
    ]
    corpus = distinct(sh_guard(tmp_path))
    assert [(row.command, row.deny) for row in corpus] == [("ls | wc", False), ("rm -rf /", True)]
    assert table(judged(corpus)) == "| sh-guard: 1 to be stopped | 100.0% |\n| sh-guard: 1 to pass | 0.0% |\n"
