"""Package managers: installing runs the package's own code."""

from monitors.review.levels import CARE, HARM, MINOR
from monitors.review.rules import Program, Rule

PROGRAMS: tuple[Program, ...] = ()

RULES = (
    Rule("packages.install-foreign", ("pip|pip3|uv ... install /(?:^| )(?:git\\+|https?:|--index-url|--extra-index-url|-i )/", "npm install|i|add /https?:|git\\+|--registry/"), CARE, "installs from outside the usual registry, and runs what comes", "Name a released package, and pin its version.", effect="package_install", yes=("pip install git+https://example.com/x",), no=("pip install requests", "npm install")),
    Rule("packages.install", ("pip|pip3|npm|pnpm|yarn|bun|cargo|gem|go|brew|apt|apt-get|dnf|yum ... install|add|i|ci|get|reinstall !{--dry-run}",), MINOR, "", effect="package_install", yes=("pip install requests", "npm install", "apt-get install -y x"), no=("pip list",)),
    Rule("packages.publish", ("npm|pnpm|yarn|cargo|gem|twine|poetry|uv publish|push|upload !{--dry-run}",), HARM, "publishes a package for everybody, which cannot be taken back", "Let a person publish.", effect="publish", yes=("npm publish", "twine upload dist/x"), no=("npm pack", "npm publish --dry-run")),
)  # fmt: skip
