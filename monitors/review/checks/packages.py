"""Packages fetched and run in one go, by their name alone: what `npx x` runs is what the owner of the name put there.

What the project has, and what is known here, is run every day.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from monitors.review.languages.project.builds import BUILDERS
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Arg, Invocation

_OF_NODE = ("package.json",)
_OF_PYTHON = ("pyproject.toml", "requirements.txt", "requirements-dev.txt", "setup.cfg")
RUNNERS = {
    **dict.fromkeys(("npx", "pnpx", "bunx", "npm", "pnpm", "yarn", "bun"), _OF_NODE),
    **dict.fromkeys(("uvx", "pipx"), _OF_PYTHON),
}
"""Programs that fetch a package and run it, with the files in which a project says which it has."""
_SUBCOMMANDS = {
    "npm": ("exec", "x"), "pnpm": ("dlx",), "yarn": ("dlx",), "bun": ("x",), "pipx": ("run",),
}  # fmt: skip
_NAMES = frozenset({"-p", "--package", "--from", "--spec"})
"""Options that name the package, if it is not named as its program is."""
_VERSION = re.compile(r"(?<=.)@[^/@]*\Z|(?:==|>=|~=|\[)(?s:.*)\Z")
_NAMED = re.compile(r"(?:@[\w.-]{1,80}/)?[\w.-]{1,100}\Z")
_STARTS = re.compile(r"(?:@[\w.-]{1,80}/)?create(?:-[\w.-]{1,80})?\Z")
"""Packages that begin a project: what they make is looked at before it is run."""
_KNOWN_OWNERS = frozenset(
    "@angular @nestjs @storybook @playwright @biomejs @openapitools @redocly @modelcontextprotocol @vue @sveltejs @astrojs @tauri-apps @capacitor @expo @react-native-community @prisma @graphql-codegen @changesets @commitlint @microsoft @vercel @netlify @cloudflare @aws-amplify @google-cloud @sentry @swc @babel @typescript-eslint @tailwindcss @shopify @lhci @cyclonedx @apollo @nx @turbo @trpc @hey-api @stoplight @mermaid-js @web @vscode @types @svgr @11ty @antfu".split()  # noqa: SIM905 — one a line would take a page
)
_KNOWN = frozenset(
    "serve http-server live-server cowsay degit tiged rimraf concurrently cross-env dotenv-cli npm-check-updates ncu npm-check depcheck madge knip license-checker markdownlint markdownlint-cli markdownlint-cli2 markdown-link-check quicktype json-server start-server-and-test wait-on kill-port typedoc jsdoc openapi-typescript openapi-generator-cli swagger-cli graphql-codegen husky lint-staged commitizen cz standard xo stylelint prettier eslint tsc tsup tsd unbuild rollup sass postcss tailwindcss autoprefixer purgecss svgo sharp-cli lighthouse pa11y axe size-limit bundlesize source-map-explorer webpack-bundle-analyzer serverless sls cdk aws-cdk vercel netlify netlify-cli firebase firebase-tools wrangler surge gh-pages expo expo-cli eas react-native cap ionic electron electron-builder tauri prisma knex sequelize sequelize-cli typeorm drizzle-kit mikro-orm supabase sanity strapi nyc c8 jest vitest playwright cypress mocha ava tap k6 autocannon shadcn shadcn-ui storybook chromatic changeset semantic-release release-it standard-version np zx tldr fkill-cli mermaid mmdc repomix ruff black isort flake8 mypy pyright pylint bandit pre-commit cookiecutter copier httpie poetry pdm hatch twine build tox nox pytest coverage ipython jupyter jupyterlab mkdocs sphinx-build pip-audit pip-tools pipdeptree vulture radon codespell yamllint ansible-lint sqlfluff cowsay youtube-dl yt-dlp black djlint pyupgrade autoflake csvkit datasette sqlite-utils posting glances".split()  # noqa: SIM905 — as above
)
"""Names and owners of packages that many run so."""


def check(scene: Scene, invocation: Invocation) -> Iterator[Finding]:
    """Look whether a runner is told to fetch what this project has not asked for.

    It speaks if the project says what it has, or surely says nothing.
    """
    wanted = _SUBCOMMANDS.get(invocation.name)
    if wanted is not None and not set(wanted).intersection(invocation.args[:3]):
        return
    package = _package(scene, invocation)
    if package is None or not package.known or not _NAMED.match(name := _VERSION.sub("", package)):
        return
    if name in _KNOWN or name in BUILDERS or name in scene.book.programs or name in scene.launchers:
        return
    if _STARTS.match(name) or name.partition("/")[0] in _KNOWN_OWNERS or _has(scene, invocation, name):
        return
    yield Finding(
        "packages.run-foreign",
        levels.CARE,
        f"fetches {name} by its name and runs it, which the project does not have",
        "Look at it first, and add it to the project.",
        effect=effect("code_execution", f"runs {name} from the registry", target=str(name)),
        elevated=invocation.elevated,
    )


def _package(scene: Scene, invocation: Invocation) -> Arg | None:
    """Return the package that a runner fetches; None if it is told to run something else."""
    named = next((after for word, after in pairwise(invocation.args) if word in _NAMES), None)
    if named is not None:
        return named
    started = scene.launchers.started(invocation)
    return started.words[0] if started is not None and started.words and started.script is None else None


def _has(scene: Scene, invocation: Invocation, name: str) -> bool:
    """Whether the project has a package, or it is not known which it has."""
    bare = name.rpartition("/")[2]
    tops = dict.fromkeys((invocation.cwd or scene.places.cwd, scene.places.workspace or scene.places.cwd))
    for top in tops:
        if scene.facts.kind(f"{top}/node_modules/.bin/{bare}") not in ("missing", "unknown"):
            return True
        for file in RUNNERS[invocation.name]:
            path = f"{top}/{file}"
            text = scene.files.get(path) or scene.facts.text(path, MAX_LISTED)
            if text is None and scene.facts.kind(path) != "missing":
                return True  # it is not known
            if text and (len(text) >= MAX_LISTED or re.search(rf"(?<![\w@/-]){re.escape(name)}(?![\w/-])", text)):
                return True
    return False


MAX_LISTED = 20_000
"""Most characters of such a file that are looked at; a longer one may have anything."""
