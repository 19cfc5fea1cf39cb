import pytest
from pydantic import ValidationError

from supervisor.config.model import Config
from supervisor.config.problems import EXPECTED, dotted, explain, found, nearest, section_at
from supervisor.config.sections.review import RuleSection


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "nothing"),
        (True, "true"),
        ("yes", "the text 'yes'"),
        ({"a": 1}, "a mapping"),
        ([1], "a list"),
        (7, "7"),
        ("x" * 500, "the text '" + "x" * 59 + "…"),
    ],
)
def test_a_wrong_value_is_shown_in_short(value: object, shown: str) -> None:
    assert found(value, ("a", "b")) == shown


@pytest.mark.parametrize("key", ["api_key", "TOKEN", "password", "auth", "environment", "MY_SECRET", "headers"])
def test_a_value_at_or_below_a_key_like_a_secrets_is_not_shown(key: str) -> None:
    assert "hush" not in found("hush", ("agent", key))
    assert "hush" not in found("hush", (key, "below"))


def test_the_nearest_name_is_found_whatever_its_case_and_none_where_none_is_near() -> None:
    assert nearest("BEFOREAUTOPILOT", ["beforeAutopilot", "periodic"]) == "; did you mean 'beforeAutopilot'?"
    assert nearest("before_autopilot", ["beforeAutopilot", "periodic"]) == "; did you mean 'beforeAutopilot'?"
    assert nearest("zzz", ["periodic"]) == ""


def test_a_path_is_written_as_people_do() -> None:
    assert dotted(("rules", 2, "decision")) == "rules[2].decision"
    assert dotted(()) == "the file"


def test_a_path_leads_to_its_section_through_lists_and_aliases() -> None:
    assert section_at(("rules", 0), Config) is RuleSection
    assert section_at(("agent", "environment"), Config) is None
    assert section_at(("nowhere", "below"), Config) is None


def test_what_is_missing_is_named_with_what_lacks_it() -> None:
    with pytest.raises(ValidationError) as caught:
        Config.model_validate({"rules": [{"name": "a", "decision": "warn"}]})
    (error,) = caught.value.errors()
    assert explain(error, Config) == "the key 'reason' is missing in rules[0]"


def test_an_error_without_a_sentence_of_ours_keeps_pydantics() -> None:
    error = {"type": "new_in_a_later_version", "loc": ("socket", "mode"), "msg": "Input should be odd", "input": 2}
    assert "new_in_a_later_version" not in EXPECTED
    assert explain(error, Config) == "socket.mode: Input should be odd, found 2"  # type: ignore[arg-type]
