"""Images that are built of a folder and run there: the command that their Dockerfile gives them."""

import pytest

from monitors.review.languages.project.images import image_command
from monitors.review.shell.invocation import Invocation, arg


def command(run: str, **files: str) -> str:
    texts = {name.replace("__", "."): text for name, text in files.items()}
    words = [arg(word) for word in run.split()]
    return "".join(
        recipe.code for recipe in image_command(Invocation(words[0], words[1:]), lambda _one, name: texts.get(name))
    )


@pytest.mark.parametrize(
    ("text", "started"),
    [
        ('FROM x\nCMD ["rm", "-rf", "/h/a"]\n', "rm -rf /h/a"),
        ("FROM x\nCMD rm -rf /h/a\n", "sh -c 'rm -rf /h/a'"),
        ('FROM x\nENTRYPOINT ["rm"]\nCMD ["-rf", "/h/a"]\n', "rm -rf /h/a"),
        ("FROM x\nCMD a\nCMD b\n", "sh -c b"),
    ],
)
def test_a_run_without_a_command_starts_that_of_the_image(text: str, started: str) -> None:
    run = "docker run --rm -v /home/ann:/h dbg"
    assert command(run, Dockerfile__dbg=text) == f"{run} {started}"
    assert command(run, Dockerfile=text) == f"{run} {started}"


@pytest.mark.parametrize(
    "run",
    [
        "docker run --rm dbg true",
        "docker run --entrypoint sh dbg",
        "docker run registry.example/dbg",
        "docker build -t dbg .",
    ],
)
def test_another_command_or_image_is_not_that_of_the_folder(run: str) -> None:
    assert command(run, Dockerfile="FROM x\nCMD rm -rf /h\n") == ""


@pytest.mark.parametrize("text", ["", "FROM x\n", "CMD ["])
def test_a_file_without_a_command_starts_none(text: str) -> None:
    assert command("docker run dbg", Dockerfile=text) == ""
