from typing import Annotated

import pytest
from pydantic import ValidationError

from monitors.contract.bounds import Count, Days, Pause, Seconds, Share
from supervisor.config.sections.base import AbsolutePath, FilePath, Section, Switchable, Texts


class Example(Section):
    share: Share = 0.5
    count: Count = 1
    seconds: Seconds = 1
    pause: Pause = 0
    days: Days = 1
    texts: Texts = ()
    path: AbsolutePath = "/"
    file: FilePath = "/"
    flag: Annotated[bool, "plain"] = False


CONTEXT = {"home": "/home/ann", "directory": "/etc/chaperon"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"share": 1.1}, {"share": -0.1}, {"share": float("nan")}, {"count": 0}, {"count": "3"}, {"count": True},
        {"seconds": 0}, {"seconds": 86_401}, {"pause": -1}, {"days": 0}, {"texts": "word"}, {"texts": [1]},
        {"path": "relative"}, {"flag": "perhaps"}, {"flag": 1}, {"unknown": 1},
    ],
)  # fmt: skip
def test_a_slip_is_refused_and_not_guessed_at(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Example.model_validate(wrong, context=CONTEXT)


@pytest.mark.parametrize(("word", "meant"), [("yes", True), ("On", True), ("NO", False), ("off", False), (True, True)])
def test_a_truth_value_may_be_a_word_of_older_yaml(word: object, meant: bool) -> None:
    assert Example.model_validate({"flag": word}).flag is meant


def test_a_section_whose_lines_are_all_commented_out_has_its_defaults() -> None:
    assert Example.model_validate(None) == Example()


def test_a_list_is_a_tuple_that_nobody_changes() -> None:
    made = Example.model_validate({"texts": ["a", "b"]})
    assert made.texts == ("a", "b")
    with pytest.raises(ValidationError, match="frozen"):
        made.texts = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("key", "given", "meant"),
    [
        ("path", "~/x", "/home/ann/x"), ("path", "/x", "/x"), ("file", "x/../y", "/etc/chaperon/y"),
        ("file", "~/y", "/home/ann/y"), ("file", "/y", "/y"),
    ],
)  # fmt: skip
def test_a_path_says_where_it_begins(key: str, given: str, meant: str) -> None:
    assert getattr(Example.model_validate({key: given}, context=CONTEXT), key) == meant


def test_a_switchable_section_is_on_by_itself() -> None:
    assert Switchable().enabled
