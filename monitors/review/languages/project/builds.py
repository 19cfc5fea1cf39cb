"""Programs that build, test or run the sources of a project without naming each: by the kinds of files that they take.

A table: suffixes, and the programs that take such files up by themselves.
"""

import posixpath
import re
from collections.abc import Mapping

from monitors.review.languages.project.recipes import MAX_TEXT, Recipe

_JVM = (
    "java javac jar gradle gradlew mvn mvnw mvnd sbt ant kotlin kotlinc scala scalac scala-cli groovy mill bloop lein"
)
_JS = (
    "npm yarn pnpm bun deno npx bunx pnpx jest vitest mocha ava jasmine tap playwright cypress vite webpack rollup esbuild next nuxt astro "
    "gulp grunt nx turbo lerna tsx ts-node esno jiti vite-node nodemon pm2 karma parcel rspack storybook ember ng vue svelte-kit wrangler"
)
_C = "make gmake bmake cmake ninja meson ctest scons gcc g++ cc c++ clang clang++ tcc nvcc emcc node-gyp waf xmake premake5 conan autoreconf zig cgo bear"
_PYTHON = (
    "pytest py.test tox nox hatch poetry pdm pipenv invoke inv fab doit scons sphinx-build mkdocs celery gunicorn uvicorn hypercorn flask "
    "django-admin manage.py coverage unittest pip pip3 build maturin briefcase alembic scrapy locust streamlit dagster prefect airflow"
)
_BY_SUFFIX: tuple[tuple[str, str], ...] = (
    (".rs", "cargo rustc cross maturin wasm-pack trunk dx"),
    (".go", "go tinygo gotestsum ginkgo mage air goreleaser wails gccgo"),
    (".java .kt .kts .scala .groovy .gradle .clj .cljs .cljc", f"{_JVM} clojure clj bb shadow-cljs"),
    (".js .mjs .cjs .jsx .ts .mts .cts .tsx .vue .svelte", _JS),
    (".py .pyi .pyx", _PYTHON),
    (".rb .rake .gemspec", "rake bundle rspec rails minitest cucumber jekyll puma cap thor guard gem"),
    (".c .h .cc .cpp .cxx .hpp .hh .m .mm .cu .f90 .adb", _C),
    (".zig", "zig"),
    (".hs .lhs", "stack cabal ghc runghc runhaskell"),
    (".ml .mli", "dune ocaml ocamlc ocamlopt ocamlfind opam"),
    (".ex .exs", "mix elixir iex"),
    (".erl .hrl", "rebar3 erl erlc escript"),
    (".swift", "swift swiftc xcodebuild"),
    (".cs .fs .fsx .csx .vb", "dotnet msbuild csc fsc mono csi fsi"),
    (".dart", "dart flutter"),
    (".d", "dub dmd rdmd ldc2 gdc"),
    (".cr", "crystal shards"),
    (".nim", "nim nimble"),
    (".php", "composer phpunit pest artisan symfony"),
    (".lua", "busted love luarocks"),
    (".pl .pm .t", "prove dzil cpanm"),
    (".jl", "julia"),
)
_EVERY = frozenset(
    {
        "make",
        "gmake",
        "just",
        "task",
        "go-task",
        "bazel",
        "bazelisk",
        "buck2",
        "pants",
        "earthly",
        "dagger",
        "mage",
        "mask",
        "xc",
    }
)
"""Programs that build sources of every kind."""
BUILDS: Mapping[str, frozenset[str]] = {
    suffix: _EVERY | frozenset(names.split()) for suffixes, names in _BY_SUFFIX for suffix in suffixes.split()
}
"""The programs that may take up a source that they are not given by name, by its suffix."""
BUILDERS = frozenset().union(*BUILDS.values()) - frozenset({"python", "pip", "pip3", "gem", "composer"})
"""All programs that build or run a whole project."""
SCRIPT_OPTIONS: Mapping[str, frozenset[str]] = {
    name: frozenset(options.split())
    for names, options in (
        ("sed gsed awk gawk mawk", "-f --file"),
        ("vim vi nvim ex", "-S -s -u"),
        ("emacs", "-l --load --script -q"),
        ("gdb lldb", "-x -s --source --command"),
        ("perl ruby", "-r"),
    )
    for name in names.split()
}
"""Options of such programs whose value is a file that they run."""
SHOWS = frozenset({
    "prettier", "eslint", "biome", "rustfmt", "gofmt", "goimports", "clang-format", "clang-tidy", "black", "ruff", "isort", "flake8", "pylint",
    "mypy", "pyright", "rubocop", "standardrb", "swiftformat", "swiftlint", "ktlint", "shfmt", "shellcheck", "tsc", "golangci-lint", "cloc", "tokei",
    "scc", "ctags", "code", "subl", "vim", "nvim", "nano", "emacs", "hx", "kak", "micro", "zed", "bat", "glow", "delta", "difft", "pygmentize", "tree-sitter",
    "semgrep", "cppcheck", "dos2unix", "unix2dos", "chmod", "chown", "touch", "cp", "mv", "rm", "ln", "install", "git", "gh", "jj", "hg", "svn", "tar", "zip",
    "gzip", "rsync", "scp", "curl", "wget", "docker", "podman", "cd", "sed", "awk", "perl", "echo", "printf", "tee", "cat", "codespell", "typos", "sqlfluff",
})  # fmt: skip
"""Programs that a source is text to, though they are no known readers; those that run a file are found before."""
_LINES = frozenset({".sed", ".vim", ".gdb", ".lldb", ".ed", ".ex", ".psqlrc", ".el"})
"""Scripts of editors and debuggers, which start other programs by a line of their own."""
_LINE = re.compile(
    r"^\s{0,20}(?::{0,2}(?:silent\s)?!|\\!|shell\s|\.shell\s|\.system\s|\d{0,4}e\s)\s{0,9}([^\n]{1,1000})", re.MULTILINE
)


def is_source(path: str) -> bool:
    """Whether a file is code, as its name says: what it does is judged, and not what its texts name."""
    suffix = posixpath.splitext(path)[1].lower()
    return suffix in BUILDS or suffix in _NAMED


def source_of(path: str, text: str) -> Recipe | None:
    """Return the code of a file by the kind that its name tells; None if it is no source.

    Args:
        path: Absolute.
        text: The text of the file, or a piece of it.
    """
    suffix = posixpath.splitext(path)[1].lower()
    text = text[:MAX_TEXT]
    if suffix in _LINES and (lines := _LINE.findall(text)):
        return Recipe("", "\n".join(lines))
    if suffix in (".py", ".pyx", ".pyi"):
        return Recipe("", text, "python")
    language = "tests" if _TESTS.search(path) else "other"
    return Recipe("", text, language) if is_source(path) else None


_TESTS = re.compile(
    r"/(?:tests?|specs?|__tests__|t)/|[._-](?:tests?|spec)\.\w{1,6}\Z|/test_[^/]*\Z|[a-z0-9](?:Tests?|Spec)\.\w{1,6}\Z"
)
"""Sources of tests: commands that these hand to code of the project are mostly what it has to refuse."""


_NAMED = frozenset({".pl", ".lua", ".r", ".jl", ".raku", ".tcl", ".el", ".rkt", ".scm", ".lisp", ".csx", ".kts", ".fnl", ".janet", ".awk", ".groovy", ".sc", ".pro", ".m4", ".v", ".odin", ".vala", ".pas", ".hx", ".coffee", ".ps1"})  # fmt: skip
"""Suffixes of sources that run by their name alone."""
