"""A rule that names a program means it however it is started: a script by its interpreter too."""

import pytest

from monitors.review.catalogue import matching
from monitors.review.rules.definitions import rule_from

PUBLISH = rule_from({"name": "own.publish", "match": ["publish.sh prod"], "why": "publishes"}, "rules[0]")
APPLY = rule_from({"name": "own.apply", "match": ["terraform apply|destroy"], "why": "changes production"}, "rules[1]")


@pytest.mark.parametrize(
    "command",
    [
        "./publish.sh prod", "sh publish.sh prod", "bash -x -- ./publish.sh prod", "env X=1 sh publish.sh prod", ". publish.sh prod",
        "source ./publish.sh prod", 'bash -c "sh publish.sh prod"', "sudo -E bash publish.sh prod", "python3 -u publish.sh prod",
        "node -r ./x publish.sh prod", "deno run publish.sh prod", "nohup sh -e publish.sh prod &", "xargs sh publish.sh prod < list",
    ],
)  # fmt: skip
def test_a_script_is_known_by_its_name_whoever_runs_it(command: str) -> None:
    assert matching(command, [PUBLISH]) == ["own.publish"]


@pytest.mark.parametrize(
    "command", ["sh publish.sh test", "cat publish.sh prod", "sh other.sh publish.sh prod", "chmod +x publish.sh prod", "bash -c ls publish.sh prod", "python3 -m publish.sh prod", "sh"]
)  # fmt: skip
def test_what_only_names_a_script_does_not_run_it(command: str) -> None:
    assert matching(command, [PUBLISH]) == []


def test_a_script_that_a_shell_reads_from_its_input_is_known_by_its_name_too() -> None:
    rule = rule_from({"name": "own.any", "match": ["publish.sh"], "why": "publishes"}, "rules[0]")
    assert matching("bash < ./publish.sh", [rule]) == ["own.any"]


@pytest.mark.parametrize(
    "command",
    [
        "terraform apply", "env FOO=1 terraform apply", "FOO=1 terraform apply -auto-approve", "terraform -chdir=infra apply",
        "terraform -chdir infra destroy", "sudo -E terraform apply", "bash -c 'terraform apply'", "/opt/bin/terraform apply", "./terraform apply",
        'ter"ra"form app\\ly', "cd infra && terraform apply", "TF=terraform; $TF apply", "alias t=terraform; t apply", "command terraform apply",
        "echo yes | terraform apply", "xargs terraform apply", "timeout 60 terraform apply", "eval terraform apply", "ssh host terraform apply",
        "python3 -c 'import os; os.system(\"terraform apply\")'", "ln -s /usr/bin/terraform t; ./t apply",
    ],
)  # fmt: skip
def test_a_rule_of_ones_own_means_the_program_however_it_is_wrapped(command: str) -> None:
    assert matching(command, [APPLY]) == ["own.apply"]


@pytest.mark.parametrize("command", ["terraform plan", "echo terraform apply", "grep -r 'terraform apply' docs"])
def test_a_rule_of_ones_own_does_not_mean_what_only_mentions_the_program(command: str) -> None:
    assert matching(command, [APPLY]) == []
