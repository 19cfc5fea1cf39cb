"""Build files, package scripts and settings, by the commands that they have others run."""

import pytest

from monitors.review.languages.project.build_files import asked, just, made
from monitors.review.languages.project.containers import pods, services
from monitors.review.languages.project.project_files import recipes_of
from monitors.review.languages.project.recipes import MAX_RECIPES, npm_scripts, package_scripts


def test_make_runs_what_a_target_needs_with_variables_put_in() -> None:
    text = "D ?= build\nall: a\n\techo $@ $$HOME\na: b ; touch $(D)\nb:\n\t-rm -rf ${D}/$(NONE) \\\n\t  x\nother:\n\tfalse\n"
    lines = {recipe.name: recipe.code for recipe in made(text, [], {})}
    assert lines == {"all": "echo all $HOME", "a": "touch build", "b": "rm -rf build/  \t  x"}
    assert made(text, ["a"], {"D": "/x"})[0].code == "touch /x"


def test_make_without_an_end_ends() -> None:
    text = "a: b\n\techo $(A)\nb: a\n\techo b\nA = $(B)\nB = $(A)$(A)\n"
    assert [recipe.name for recipe in made(text, [], {})] == ["a", "b"]


def test_a_justfile_has_recipes_by_name() -> None:
    assert [(one.name, one.code) for one in just("# x\ntest a='1':\n    @echo {{a}}\n\nb:\n  x\n  y\n")] == [
        ("test", "echo $a"),
        ("b", "x\ny"),
    ]


@pytest.mark.parametrize(("wanted", "names"), [("ci", ["x", "y"]), ("test", ["a", "b"]), ("none", [])])
def test_npm_runs_the_scripts_around_one(wanted: str, names: list[str]) -> None:
    text = (
        '{"name": "z", "scripts": {"preinstall": "x", "prepare": "y", "pretest": "a", "test": "b", "other": "\\"q\\""}}'
    )
    assert npm_scripts(package_scripts(text), wanted) == names
    assert package_scripts(text)["other"] == '"q"'


def test_yaml_is_read_in_line_as_a_block_and_as_a_list() -> None:
    text = 'a:\n  script:\n    - one\n    - run: two\n  run: "three \\" x"\n  command: |\n    four\n\n    five\n  name: six\n'
    codes = [recipe.code for recipe in recipes_of("/w/.gitlab-ci.yml", text)]
    assert codes == ["one\ntwo", 'three " x', "four\n\nfive"]


def test_services_with_rights_over_the_machine_are_said_as_to_docker() -> None:
    text = "a:\n  privileged: true\n  pid: host\n  volumes:\n    - ~/x:/y:ro\n    - data:/z\n"
    assert [one.code for one in services(text)] == ["docker run --pid=host --privileged -v ~/x:/y:ro image"]
    assert services("a:\n  image: x\n") == []


@pytest.mark.parametrize("size", [2_000, 100_000])
@pytest.mark.parametrize(
    "piece", ['"a": "', "a:", "run: |\n", '"args": [', "\\\n", "$(", "a=", " ", "x" * 50 + ": ", "- run:"]
)
def test_hostile_files_are_read_to_some_end(piece: str, size: int) -> None:
    text = piece * (size // len(piece))
    for name in ("Makefile", "package.json", "justfile", ".github/workflows/a.yml", ".vscode/tasks.json", "tox.ini", "compose.yml"):  # fmt: skip
        assert len(recipes_of(f"/w/{name}", text)) <= MAX_RECIPES + 1


def test_a_manifest_of_a_cluster_is_said_as_a_container_is_started() -> None:
    text = "spec:\n  hostPID: true\n  containers:\n  - securityContext: {privileged: true}\n  volumes:\n  - hostPath:\n      path: /\n"
    assert [recipe.code for recipe in pods(text)] == ["docker run --pid=host --privileged -v /:/mounted image"]
    assert pods("spec:\n  replicas: 2\n  path: /x\n") == []


def test_what_a_makefile_asks_of_the_shell_is_a_command() -> None:
    text = "A := $(shell echo $$(id))\nB = $(shell unclosed\nc:\n\t@echo $(shell ls)\n"
    assert [recipe.code for recipe in asked(text)] == ["echo $(id)", "unclosed", "ls"]


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [
        ("x.tf", 'provisioner "local-exec" {\n command = "rm -rf \\"x\\""\n}', 'rm -rf "x"'),
        ("x.tf", 'program = ["sh", "-c", "curl x | sh"]', "curl x | sh"),
        ("build.ninja", "rule r\n  command = rm -rf x\n", "rm -rf x"),
        ("configure.ac", "m4_esyscmd([curl x | sh])", "curl x | sh"),
        (".idea/runConfigurations/a.xml", '<option name="SCRIPT_TEXT" value="rm -rf x"/>', "rm -rf x"),
        (".buildkite/pipeline.yml", "steps:\n  - command: rm -rf x\n", "rm -rf x"),
        ("composer.json", '{"scripts": {"post-install-cmd": ["rm -rf x", "curl y"]}}', "rm -rf x\ncurl y"),
        (".vscode/launch.json", '{"runtimeExecutable": "sh", "runtimeArgs": ["-c", "rm -rf x"]}', "rm -rf x"),
    ],
)
def test_commands_of_further_kinds_of_files_are_found(path: str, text: str, code: str) -> None:
    assert code in [recipe.code for recipe in recipes_of(f"/w/{path}", text)]
