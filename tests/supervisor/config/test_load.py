import os
import typing
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitors.contract.words import Decision
from supervisor.config.load import ConfigError, ConfigProblem, load, variable_path
from supervisor.config.model import Audit, Config
from supervisor.config.problems import keys, section_in
from supervisor.config.sections.base import Section
from supervisor.config.sources import MAX_BYTES
from supervisor.config.yaml_tree import parse
from supervisor.rehearsal.scenario import Scenario


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o644)
    return path


def read(tmp_path: Path, text: str | bytes, **environ: str) -> Config:
    file = write(tmp_path / "c.yaml", text)
    return load({"HOME": str(tmp_path / "home"), **environ}, file, system=tmp_path / "none").config


def refusal(tmp_path: Path, text: str | bytes, **environ: str) -> list[str]:
    """What is said about each problem; the file's directory is cut from the places."""
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text, **environ)
    return [f"{Path(problem.place).name}: {problem.says}" for problem in caught.value.problems]


def test_without_any_file_the_defaults_hold(tmp_path: Path) -> None:
    loaded = load({"HOME": str(tmp_path)}, system=tmp_path / "none")
    assert loaded.config == Config()
    assert loaded.sources == ()


@pytest.mark.parametrize("text", ["", "# nothing\n", "reviewer:\n  # enabled: false\n", "{}", "---\n"])
def test_an_empty_file_or_section_changes_nothing(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == Config()


def test_a_later_layer_wins_key_by_key_and_lists_are_replaced_whole(tmp_path: Path, home: Path) -> None:
    system = write(
        tmp_path / "etc.yaml",
        "reviewer: {enabled: false, risk_threshold: 0.1}\nprotected_paths: [/a, /b]\naudit: {retain_days: 1}\n"
        "agent: {environment: {A: '1', B: '1'}}",
    )
    user = write(home / ".config/chaperon/chaperon.yaml", "reviewer: {risk_threshold: 0.2}\nprotected_paths: [/c]")
    file = write(tmp_path / "c.yaml", "reviewer: {risk_threshold: 0.3}\nagent: {environment: {B: '2'}}")
    loaded = load({"HOME": str(home), "CHAPERON_REVIEWER__RISK_THRESHOLD": "0.4"}, file, system=system)
    assert loaded.config.reviewer.risk_threshold == 0.4
    assert loaded.config.reviewer.enabled is False
    assert loaded.config.protected_paths == ("/c",)
    assert loaded.config.audit.retain_days == 1
    assert loaded.config.agent.environment == {"A": "1", "B": "2"}
    assert loaded.sources == (str(system), str(user), str(file), "CHAPERON_REVIEWER__RISK_THRESHOLD")


def sections(section: type[Section]) -> Iterator[type[Section]]:
    yield section
    for field in section.model_fields.values():
        if below := section_in(field.annotation):
            yield from sections(below)


EVERY_SECTION = sorted({*sections(Config), *sections(Scenario)}, key=lambda each: each.__name__)


def words(annotation: Any) -> Iterator[Any]:
    """The values that an annotation lists."""
    if typing.get_origin(annotation) is typing.Literal:
        yield from typing.get_args(annotation)
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from (each.value for each in annotation)
    else:
        for part in typing.get_args(annotation):
            yield from words(part)


@pytest.mark.parametrize("section", EVERY_SECTION)
def test_every_key_and_every_listed_value_can_be_written_without_quotes(section: type[Section]) -> None:
    for key, name in keys(section).items():
        for word in (*words(section.model_fields[name].annotation), "x"):
            assert parse(f"{key}: {word}").value == {key: word}


def needed(section: type[Section]) -> dict[str, str]:
    """A value for each key that must be given, alone or beside another."""
    if section is Audit:
        return {"key": "file:/key"}  # `encrypt` takes none without it
    fields = section.model_fields.items()
    given = {"url": "journal://"}
    return {
        name: given.get(name) or next(words(field.annotation), "some") for name, field in fields if field.is_required()
    }


@pytest.mark.parametrize("section", EVERY_SECTION)
def test_every_key_that_is_true_or_false_takes_the_words_of_older_yaml(section: type[Section]) -> None:
    for key, name in keys(section).items():
        if section.model_fields[name].annotation is bool:
            for word, meant in {
                "on": True,
                "Yes": True,
                "OFF": False,
                "no": False,
                "true": True,
                "false": False,
            }.items():
                read = section.model_validate({**needed(section), **parse(f"{key}: {word}").value})
                assert getattr(read, name) is meant


def test_what_the_documentation_writes_without_quotes_is_taken(tmp_path: Path) -> None:
    text = """
    approval: {mode: off}
    reviewer:
      rules:
        - {name: own.deploy, match: [deploy prod], why: changes what customers use, yes: [deploy prod], no: [deploy test]}
    patterns: {repetition: off, scope_creep: {infer: no}}
    """
    config = read(tmp_path, text, CHAPERON_APPROVAL__MODE="off", CHAPERON_REVIEWER__ENABLED="off")
    assert config.approval.model_dump()["mode"] == "off"
    assert (config.reviewer.rules[0].yes, config.reviewer.rules[0].no) == (("deploy prod",), ("deploy test",))
    patterns = config.patterns.model_dump()
    assert (patterns["repetition"]["enabled"], patterns["scope_creep"]["infer"], config.reviewer.enabled) == (
        False,
    ) * 3


def test_the_users_file_is_below_xdg_config_home(tmp_path: Path) -> None:
    write(tmp_path / "xdg/chaperon/chaperon.yaml", "audit: {log_level: debug}")
    environ = {"HOME": "/nowhere", "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert load(environ, system=tmp_path / "none").config.audit.log_level == "debug"


def test_all_that_is_wrong_is_told_at_once_with_place_expectation_and_nearest_name(tmp_path: Path) -> None:
    said = refusal(
        tmp_path,
        "reviewer:\n"
        "  risk_treshold: 0.5\n"
        "  enabled: perhaps\n"
        "  review_mode: blockin\n"
        "resources: {max_memory_mb: -3, max_cost_usd: .inf}\n"
        "intervention: {}\n"
        "stop: []\n",
        CHAPERON_AUDIT__RETAIN_DAYS="none",
    )
    assert said == [
        "c.yaml:2:3: unknown key 'risk_treshold' in reviewer; did you mean 'risk_threshold'?",
        "c.yaml:3:12: reviewer.enabled: expected true or false, found the text 'perhaps'",
        "c.yaml:4:16: reviewer.review_mode: expected one of 'blocking' or 'async', found the text 'blockin'; did you mean 'blocking'?",
        "c.yaml:5:28: resources.max_memory_mb: expected 1 or more, found -3",
        "c.yaml:5:46: resources.max_cost_usd: expected a finite number, found inf",
        "c.yaml:6:1: unknown key 'intervention'; did you mean 'interventions'?",
        "c.yaml:7:7: stop: expected a section (a mapping of keys), found a list",
        "CHAPERON_AUDIT__RETAIN_DAYS: audit.retain_days: expected a whole number, found the text 'none'",
    ]


def test_a_name_near_to_none_is_answered_with_all_that_there_are(tmp_path: Path) -> None:
    assert refusal(tmp_path, "socket: {zzz: 1}") == ["c.yaml:1:10: unknown key 'zzz' in socket; known here: mode"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "c.yaml:1:5: invalid YAML: while parsing a flow node, expected the node content, but found '<stream end>'"),
        ("stop:\n\tx: 1", "c.yaml:2:1: invalid YAML: while scanning for the next token, found character '\\t' that cannot start any token"),
        ("reviewer: {}\nreviewer: {}", "c.yaml:2:1: the key 'reviewer' is already set in line 1; keep one of the two"),
        ("stop: &a\n  stop: *a", "c.yaml:1:7: an alias to something that contains it"),
        ("x: \x01", "c.yaml:1:4: the character U+0001 is not allowed in YAML"),
        ("x: *nope", "c.yaml:1:4: invalid YAML: found undefined alias 'nope'"),
        ("x: !!python/object:os.system 1", "c.yaml:1:4: invalid YAML: could not determine a constructor for the tag 'tag:yaml.org,2002:python/object:os.system'"),
        ("- a", "c.yaml:1:1: the file: expected a section (a mapping of keys), found a list"),
        ("1: 2", "c.yaml:1:1: unknown key '1'; known here: "),
        (b"reviewer:\n  x: \xff", "c.yaml: is not UTF-8: byte 0xff in line 2"),
        ("[" * 5000, "c.yaml:1:1: nested deeper than 50 levels"),
        (b"#" * (MAX_BYTES + 1), "c.yaml: is larger than 256 KiB (262145 bytes); is it the right file?"),
        ("{}\n---\n{}", "c.yaml:2:1: invalid YAML: expected a single document in the stream, but found another document"),
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_refused_with_its_place(tmp_path: Path, text: str | bytes, says: str) -> None:
    assert [line.partition("agent,")[0] for line in refusal(tmp_path, text)] == [says]


def test_aliases_of_aliases_do_not_grow_without_bound(tmp_path: Path) -> None:
    rows = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40))]
    assert refusal(tmp_path, "\n".join(rows)) == [
        "c.yaml:6:5: aliases repeat more than 100,000 values here; write out what is meant"
    ]


def test_anchors_and_merge_keys_work_and_keep_their_places(tmp_path: Path) -> None:
    assert read(tmp_path, "stop: &s {interrupt_seconds: 1}\nprogress: {}").stop.model_dump()["interrupt_seconds"] == 1
    said = refusal(tmp_path, "hooks: &h\n  timeout: 5\nstop:\n  <<: *h\n  interrupt_seconds: x")
    assert said == [
        "c.yaml:2:3: unknown key 'timeout' in stop; known here: end_of_input_seconds, interrupt_seconds, terminate_seconds",
        "c.yaml:5:22: stop.interrupt_seconds: expected a number, found the text 'x'",
    ]


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbfaudit: {retain_days: 2}").audit.retain_days == 2


@pytest.mark.parametrize(
    ("text", "environ"),
    [
        ("agent: {environment: {X: 99887766}}", {}),
        ("agent: {environment: {X: [99887766]}}", {}),
        ("agent: {api_key: 99887766}", {}),
        ("", {"CHAPERON_AGENT__AUTH_TOKEN": "99887766"}),
        ("agent: {arguments: ['--resume=99887766']}", {}),
    ],
)
def test_a_secret_is_never_printed(tmp_path: Path, text: str, environ: dict[str, str]) -> None:
    (said,) = refusal(tmp_path, text, **environ)
    assert "99887766" not in said


def test_the_environment_of_agents_is_not_in_the_configurations_text(tmp_path: Path) -> None:
    config = read(tmp_path, "agent: {environment: {TOKEN: hush}}")
    assert config.agent.environment == {"TOKEN": "hush"}
    assert "hush" not in repr(config)


def test_a_file_that_anybody_can_write_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "open.yaml", "{}")
    file.chmod(0o666)
    with pytest.raises(ConfigError, match=r"anybody can write it.*chmod o-w"):
        load({"HOME": str(tmp_path)}, file, system=tmp_path / "none")


def test_a_named_file_must_exist_and_be_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, says in (("gone.yaml", "no such file"), (".", "is no regular file"), ("pipe", "is no regular file")):
        with pytest.raises(ConfigError, match=says):
            load({"HOME": str(tmp_path)}, tmp_path / path, system=tmp_path / "none")


def test_a_file_that_cannot_be_read_is_an_error_even_where_it_is_optional(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(ConfigError, match=r"loop: cannot be read: Too many levels"):
        load({"HOME": str(tmp_path)}, system=loop)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("CHAPERON_REVIEWER__RISK_THRESHOLD", ("reviewer", "risk_threshold")),
        ("CHAPERON_INTERVENTIONS__STRATEGY__TYPE", ("interventions", "strategy", "type")),
        ("CHAPERON_HOOKS__PRE_START", ("hooks", "pre-start")),
        ("CHAPERON_CHECKPOINTS__MAX_COUNT", ("checkpoints", "maxCount")),
        ("CHAPERON_CHECKPOINTS__MAXCOUNT", ("checkpoints", "maxCount")),
        ("CHAPERON_AGENT__ENVIRONMENT__Some_Name", ("agent", "environment", "Some_Name")),
        ("CHAPERON_PROTECTED_PATHS", ("protected_paths",)),
        ("CHAPERON_AGENT", None),
        ("CHAPERON_TASK_ID", None),
    ],
)
def test_a_variables_name_is_a_path_of_keys_or_no_configuration(name: str, path: tuple[str, ...] | None) -> None:
    assert variable_path(name) == path


def test_a_variable_for_agents_stays_text(tmp_path: Path) -> None:
    config = read(tmp_path, "", CHAPERON_AGENT__ENVIRONMENT__PORT="0080", CHAPERON_PROTECTED_PATHS="[/x]")
    assert config.agent.environment == {"PORT": "0080"}
    assert config.protected_paths == ("/x",)


def test_an_unknown_variable_is_refused_with_its_name(tmp_path: Path) -> None:
    assert refusal(tmp_path, "", CHAPERON_REVIEWR__ENABLED="1") == [
        "CHAPERON_REVIEWR__ENABLED: unknown key 'reviewr'; did you mean 'reviewer'?"
    ]


def test_paths_of_files_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    config = read(tmp_path, "hooks: {pre-start: hooks/a.sh, on-error: ~/b.sh}\nagent: {command: /opt/claude}")
    assert config.hooks.pre_start == str(tmp_path / "hooks/a.sh")
    assert config.hooks.on_error == str(tmp_path / "home/b.sh")


def test_rules_of_ones_own_are_read(tmp_path: Path) -> None:
    (rule,) = read(
        tmp_path, "rules: [{name: own.x, tool: Bash, match: '^terraform', decision: block, reason: Ask.}]"
    ).rules
    assert (rule.name, rule.decision) == ("own.x", Decision.BLOCK)


YAMLISH = st.text(st.sampled_from(list("abc:{}[]&*!-?|>#'\"%@`,<\n\t 0159.~\x00\ud800é")), max_size=60)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.one_of(st.binary(max_size=80), YAMLISH.map(lambda text: text.encode(errors="surrogatepass"))))
def test_any_bytes_are_either_a_configuration_or_refused_with_a_sentence(tmp_path: Path, text: bytes) -> None:
    assert all(problem.says and problem.place for problem in problems_of(lambda: read(tmp_path, text)))


@settings(max_examples=200)
@given(
    name=st.sampled_from(["REVIEWER__ENABLED", "RULES", "AGENT", "X__Y", "__", "", "STOP__", "__STOP", "HOOKS__X__Y"]),
    value=YAMLISH,
)
def test_any_variable_is_either_taken_or_refused_by_its_name(name: str, value: str) -> None:
    environ = {"HOME": "/nowhere", f"CHAPERON_{name}": value}
    found = problems_of(lambda: load(environ, system=Path("/nowhere/c.yaml")))
    assert {problem.place for problem in found} <= {f"CHAPERON_{name}"}


def problems_of(reading: Callable[[], object]) -> tuple[ConfigProblem, ...]:
    """What is refused, or nothing; any other exception is a defect."""
    try:
        reading()
    except ConfigError as error:
        return error.problems
    return ()


def test_a_number_with_a_zero_before_it_is_refused_since_yaml_knows_two_readings(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("checkpoints: {maxCount: 010}\nsocket: {mode: 0660}\n")
    with pytest.raises(
        ConfigError, match=r"c\.yaml:1:25: checkpoints.maxCount: expected a whole number, found the text '010'"
    ):
        load({"HOME": str(tmp_path)}, file, system=tmp_path / "none.yaml")
    file.write_text("socket: {mode: 0660}\n")
    assert load({"HOME": str(tmp_path)}, file, system=tmp_path / "none.yaml").config.socket.mode == 0o660
