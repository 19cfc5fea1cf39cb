"""Programs that run files of a project by the names that these have: test runners, bundlers, task runners, build tools.

A table: program, names of its files, and the language in which they are read.
"""

from collections.abc import Callable, Iterator, Mapping

from monitors.review.languages.project.playbooks import local_tasks
from monitors.review.languages.project.project_files import recipes_of
from monitors.review.languages.project.recipes import Recipe
from monitors.review.shell.invocation import Invocation

Files = Callable[[Invocation, str], str | None]
"""The text of a file that an invocation names, if it is known."""
Read = Callable[[Invocation, Files], Iterator[Recipe]]

MAX_NAMED = 8
"""Most files looked at of those that an invocation names, and of settings that it may have."""
_SCRIPT = (".js", ".ts", ".mjs", ".cjs", ".mts", ".cts", ".jsx", ".tsx")
_ENDINGS = ("js", "ts", "mjs", "cjs")


def whole_file(*names: str, language: str = "other") -> Read:
    """Read each of these files as one piece of code."""

    def read(invocation: Invocation, files: Files) -> Iterator[Recipe]:
        for name in names:
            text = files(invocation, name)
            if text:
                yield Recipe(name, text, language)

    return read


def of_its_kind(*names: str) -> Read:
    """Read each of these files as what its name says that it is."""

    def read(invocation: Invocation, files: Files) -> Iterator[Recipe]:
        for name in names:
            text = files(invocation, name)
            yield from recipes_of(f"/{name}", text) if text else ()

    return read


def _given(*options: str, kind: str, usual: tuple[str, ...] = ()) -> Read:
    """Read the files that stand behind these options, or among the words, as a file of this name would be read."""

    def read(invocation: Invocation, files: Files) -> Iterator[Recipe]:
        pairs = zip(invocation.args, invocation.args[1:], strict=False)
        named = [str(value) for option, value in pairs if option in options]
        if not options:
            named = [str(word) for word in invocation.operands(("-i", "-e", "-t", "-l", "-u")) if word.known]
        for name in (named or usual)[:MAX_NAMED]:
            text = files(invocation, name)
            yield from recipes_of(f"/{kind}", text) if text else ()

    return read


def _named_scripts(*settings: str) -> Read:
    """Read the scripts among the words, and the settings that are scripts."""
    configured = whole_file(*(f"{name}.{ending}" for name in settings for ending in _ENDINGS))

    def read(invocation: Invocation, files: Files) -> Iterator[Recipe]:
        named = [str(word) for word in invocation.args if word.known and word.endswith(_SCRIPT)]
        yield from whole_file(*named[:MAX_NAMED])(invocation, files)
        yield from configured(invocation, files)

    return read


def _playbook(invocation: Invocation, files: Files) -> Iterator[Recipe]:
    """Read playbooks for the commands that they name, and for what they have done on this machine."""
    yield from _given(kind="play.yml")(invocation, files)
    if _TRIES.isdisjoint(invocation.args):
        for name in invocation.operands(("-i", "-e", "-t", "-l", "-u", "-c"))[:MAX_NAMED]:
            yield from local_tasks(files(invocation, str(name)) or "") if name.known else ()


_TRIES = frozenset({"--check", "-C", "--syntax-check", "--list-tasks", "--list-hosts"})


_BY_FILES: tuple[tuple[str, Read], ...] = (
    ("jest", _named_scripts("jest.config")),
    ("vitest", _named_scripts("vitest.config", "vite.config")),
    ("mocha ava jasmine tap tape qunit", _named_scripts(".mocharc")),
    ("playwright", _named_scripts("playwright.config")),
    ("cypress", _named_scripts("cypress.config")),
    ("vite", _named_scripts("vite.config")),
    ("webpack", _named_scripts("webpack.config")),
    ("rollup", _named_scripts("rollup.config")),
    ("next", _named_scripts("next.config")),
    ("astro", _named_scripts("astro.config")),
    ("eslint", _named_scripts("eslint.config", ".eslintrc")),
    ("prettier", _named_scripts("prettier.config", ".prettierrc")),
    ("stylelint", _named_scripts("stylelint.config")),
    ("babel", _named_scripts("babel.config")),
    ("postcss tailwindcss", _named_scripts("postcss.config", "tailwind.config")),
    ("gulp", _named_scripts("gulpfile")),
    ("grunt", _named_scripts("Gruntfile")),
    ("invoke inv", whole_file("tasks.py", language="python")),
    ("fab", whole_file("fabfile.py", language="python")),
    ("doit", whole_file("dodo.py", language="python")),
    ("scons", whole_file("SConstruct", language="python")),
    ("nox", whole_file("noxfile.py", language="python")),
    ("gradle gradlew", whole_file("build.gradle", "build.gradle.kts")),
    ("rake", whole_file("Rakefile")),
    ("bundle bundler", whole_file("Gemfile")),
    ("vagrant", whole_file("Vagrantfile")),
    ("mix", whole_file("mix.exs")),
    ("task go-task", _given("-t", "--taskfile", "-d", kind="Taskfile.yml", usual=("Taskfile.yml", "Taskfile.yaml"))),
    ("ansible-playbook", _playbook),
    ("nodemon", of_its_kind("nodemon.json")),
    ("nix-shell nix-build nix", of_its_kind(*(f"{name}.nix" for name in ("shell", "default", "flake")))),
    ("lint-staged", of_its_kind(".lintstagedrc.json", ".lintstagedrc")),
    ("makepkg", of_its_kind("PKGBUILD")),
    ("ant", of_its_kind("build.xml")),
    ("mvn mvnw", of_its_kind("pom.xml")),
    ("meson", of_its_kind("meson.build")),
    ("tilt", of_its_kind("Tiltfile")),
    ("earthly", of_its_kind("Earthfile")),
    ("node-gyp", of_its_kind("binding.gyp")),
    ("goreleaser", of_its_kind(".goreleaser.yml", ".goreleaser.yaml")),
    ("netlify", of_its_kind("netlify.toml")),
    ("sphinx-build", whole_file("conf.py", "docs/conf.py", "source/conf.py", language="python")),
    ("pre-commit prek", of_its_kind(".pre-commit-config.yaml")),
    ("lefthook", of_its_kind("lefthook.yml")),
    ("tox", of_its_kind("tox.ini")),
    ("direnv", of_its_kind(".envrc")),
)
BY_NAME: Mapping[str, Read] = {name: read for names, read in _BY_FILES for name in names.split()}
"""Programs, with what they run out of files that they find by name."""
