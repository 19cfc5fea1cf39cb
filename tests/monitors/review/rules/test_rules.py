"""Rules and programs found by a command line."""

import gc
import subprocess
import sys

from monitors.review.rules.rules import MAX_LINES, Program, Rule, RuleBook
from monitors.review.shell.invocation import Input, Invocation, arg

BOOK = ((Program("db", fed=True, reads=("show",)),), (Rule("x.drop", ("db ... drop", "db /drop/"), 0.8, "drops"),))


def invoked(words: str, fed: str | None = None) -> Invocation:
    stdin = Input(fed) if fed is not None else Input(given=False)
    return Invocation(arg("db"), [arg(word) for word in words.split()], stdin=stdin)


def meant(book: RuleBook, one: Invocation) -> list[str]:
    return [rule.name for rule in book.matching(one, book.operands(one))]


def test_what_a_program_is_fed_counts_beside_a_command_line_that_was_met_before() -> None:
    book = RuleBook(*BOOK)
    assert [meant(book, invoked("a")), meant(book, invoked("a drop"))] == [[], ["x.drop"]]
    assert meant(book, invoked("a", "drop all")) == ["x.drop"]
    assert [meant(book, invoked("a")), meant(book, invoked("a drop"))] == [[], ["x.drop"]]


def test_command_lines_past_the_bound_are_judged_as_the_first_were() -> None:
    book = RuleBook(*BOOK)
    for number in range(MAX_LINES + 10):
        assert meant(book, invoked(f"a{number} drop")) == ["x.drop"]
        assert meant(book, invoked(f"a{number}")) == []


def test_a_remembered_command_line_keeps_no_command_of_the_script_alive() -> None:
    book = RuleBook(*BOOK)
    source = Invocation(arg("curl"), [])
    one = Invocation(arg("db"), [arg("$x", known=False, source=(source,))])
    meant(book, one)
    book.only_reads(one, book.operands(one))
    del one
    gc.collect()
    assert not [held for held in gc.get_referrers(source) if isinstance(held, tuple)]


def test_a_reason_is_the_same_in_every_process() -> None:
    code = (
        "from monitors.contract.actions import Action, ReviewContext; from monitors.review import make_reviewer\n"
        "print(make_reviewer().review(Action('Bash', {'command': 'mytool purge-all --yes'}), ReviewContext()).reasoning)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": str(seed)}, check=True, capture_output=True, text=True
        ).stdout
        for seed in range(4)
    }
    assert len(said) == 1, said
