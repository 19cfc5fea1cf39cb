"""What a script or a run has made itself, or the cluster of this machine that it has turned to."""

import pytest

from monitors.contract.actions import Action, ReviewContext
from monitors.contract.origins import Origins
from monitors.contract.words import Decision
from monitors.review import make_reviewer

WORK = "/home/ann/work"
STOPPED = (Decision.BLOCK, Decision.MODIFY)


def last(*commands: str) -> Decision:
    """Review commands as calls of one run; returns the answer to the last."""
    reviewer, known = make_reviewer(), Origins()
    for command in commands:
        context = ReviewContext(home="/home/ann", origins=known.known)
        made = reviewer.review(Action("Bash", {"command": command}, WORK, WORK), context)
        known.remember(made)
    return made.decision


@pytest.mark.parametrize(
    ("making", "taking"),
    [
        ("git worktree add ../wt main", "git worktree remove --force ../wt"),
        ("git worktree add -b try ../try", "git worktree remove -f ../try"),
        ("git stash push -u", "git stash drop"),
        ("docker volume create t", "docker volume rm t"),
        ("docker run -d --name c redis", "docker rm -fv c"),
        ("kubectl create ns pr-4", "kubectl delete ns pr-4"),
        ("helm install app ./chart -n pr-4", "helm uninstall app -n pr-4"),
        ("lxc launch ubuntu:22.04 t1", "lxc delete -f t1"),
        ("createdb a42", "dropdb a42"),
        ("docker compose -p x up -d", "docker compose -p x down -v"),
        ("docker compose -p x run web true", "docker compose -p x down -v"),
    ],
)
def test_what_was_made_before_is_taken_back_in_the_same_call_or_a_later_one(making: str, taking: str) -> None:
    assert last(taking) in STOPPED
    assert last(f"{making} && make test; {taking}") not in STOPPED
    assert last(making, "make test", taking) not in STOPPED


@pytest.mark.parametrize(
    ("making", "taking"),
    [
        ("git worktree add ../wt main", "git worktree remove --force ../other"),
        ("git stash push -u", "git stash drop stash@{1}"),
        ("git stash push -u", "git stash clear"),
        ("docker volume create t", "docker volume rm t pgdata"),
        ("docker volume create t", "docker volume rm $(docker volume ls -q)"),
        ("kubectl run tmp --image x -n shop", "kubectl delete ns shop"),
        ("kubectl create ns prod", "kubectl delete ns prod"),
        ("helm install app ./chart", "kubectl delete deployment app"),
        ("helm install app ./chart", "helm uninstall app other"),
        ("createdb a42", "dropdb app"),
        ("lxc start app", "lxc delete -f app"),
        ("gcloud compute instances start app", "gcloud compute instances delete app"),
        ("docker compose -f a.yml up -d", "docker compose -f b.yml down -v"),
        ("docker compose up -d", "docker compose down -v"),
    ],
)
def test_the_loss_of_anything_else_is_stopped(making: str, taking: str) -> None:
    assert last(f"{making} && {taking}") in STOPPED
    assert last(making, taking) in STOPPED


@pytest.mark.parametrize(
    ("making", "taking"), [("createdb a42", "dropdb a42"), ("lxc launch ubuntu:22.04 t1", "lxc delete -f t1")]
)
def test_what_may_have_been_there_before_is_not_made(making: str, taking: str) -> None:
    assert last(f"{making} || true; {taking}") in STOPPED
    assert last(f"{making} || echo there", taking) in STOPPED
    assert last(f"{making} || exit 1; {taking}") not in STOPPED
    assert last(f"{making}; make test || true; {taking}") not in STOPPED


def test_a_call_that_fails_at_making_something_has_not_made_it() -> None:
    def after_failing(*commands: str) -> Decision:
        reviewer, known = make_reviewer(), Origins()
        for command in commands:
            context = ReviewContext(home="/home/ann", origins=known.known)
            made = reviewer.review(Action("Bash", {"command": command}, WORK, WORK), context)
            known.remember(made)
            known.failed(made)
        return made.decision

    assert after_failing("createdb a42", "dropdb a42") in STOPPED
    assert after_failing("cd db && createdb a42", "dropdb a42") in STOPPED
    assert after_failing("createdb a42 && make test", "dropdb a42") not in STOPPED


@pytest.mark.parametrize(
    ("command", "stopped"),
    [
        ("kubectl config use-context kind-dev && kubectl delete ns playground", False),
        ("kubectx minikube; kubectl delete deployment --all", False),
        ("k3d cluster create dev && helm uninstall app", False),
        ("kubectl delete ns playground; kubectl config use-context kind-dev", True),
        ("kubectl config use-context kind-dev; kubectl config use-context shop; kubectl delete ns playground", True),
        ("kubectl config use-context kind-dev && kubectl delete ns production", True),
    ],
)
def test_a_cluster_of_this_machine_to_which_the_script_has_turned_is_no_loss(command: str, stopped: bool) -> None:
    assert (last(command) in STOPPED) == stopped


@pytest.mark.parametrize(
    "command",
    [
        "git init -q /tmp/r && cd /tmp/r && git push -f . HEAD:refs/heads/x",
        "git init -q --bare /tmp/o.git && git clone -q /tmp/o.git /tmp/w && cd /tmp/w && git push --force origin main",
        "git init /tmp/r && git -C /tmp/r remote add origin /tmp/o.git && git -C /tmp/r push --mirror origin",
        "git init /tmp/r && cd /tmp/r && git stash drop && git filter-branch --tree-filter true HEAD",
        "git push --delete file:///tmp/o.git old",
        "git clone -q . /tmp/t && cd /tmp/t && git reset -q --hard HEAD~3 && git clean -fdx",
    ],
)
def test_a_repository_for_trial_in_scratch_space_is_no_loss(command: str) -> None:
    assert last(command) not in STOPPED


@pytest.mark.parametrize(
    "command",
    [
        "git init /tmp/r && cd /tmp/r && git remote add origin git@github.com:a/b.git && git push -f origin main",
        "git init /tmp/r && cd /tmp/r && git push -f git@github.com:a/b.git main",
        "git init /tmp/r && git push -f origin main",
        "git init /tmp/r && git -C /home/ann/other reset --hard",
        "git clone git@github.com:a/b.git /tmp/b && cd /tmp/b && git push -f origin main",
        "git worktree add /tmp/w && cd /tmp/w && git stash clear",
        "git init /home/ann/other && cd /home/ann/other && git stash clear",
        "cd /tmp && git --git-dir=/home/ann/other/.git --work-tree=/home/ann/other reset --hard",
    ],
)
def test_a_repository_that_others_have_is_a_loss_wherever_it_is_worked_on(command: str) -> None:
    assert last(command) in STOPPED
