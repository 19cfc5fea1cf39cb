"""Playbooks for this machine: what each task has done, as the command that does it."""

import pytest

from monitors.review.languages.project.playbooks import local_tasks


def commands(tasks: str, hosts: str = "localhost") -> list[str]:
    text = f"- hosts: {hosts}\n  tasks:\n{tasks}"
    return [line for recipe in local_tasks(text) for line in recipe.code.splitlines()]


@pytest.mark.parametrize(
    ("tasks", "command"),
    [
        ("    - file:\n        path: /srv/x\n        state: absent\n", "rm -rf /srv/x"),
        ("    - name: a\n      ansible.builtin.file: path=~/x state=absent\n", "rm -rf ~/x"),
        ("    - file: path=/srv/x state=directory\n", "touch /srv/x"),
        ("    - shell: rm -rf ~/docs\n", "rm -rf ~/docs"),
        ("    - command: make clean chdir=/srv\n", "make clean"),
        ("    - get_url: url=https://x.example/a dest=/tmp/a\n", "curl -o /tmp/a https://x.example/a"),
        ("    - user:\n        name: bob\n        state: absent\n", "userdel -r bob"),
        ("    - service: name=sshd state=stopped\n", "systemctl stop sshd"),
        ("    - copy: src=a dest=/etc/x\n", "tee /etc/x"),
    ],
)
def test_a_task_is_the_command_that_does_the_same(tasks: str, command: str) -> None:
    assert commands(tasks) == [command]


def test_tasks_are_in_their_order_and_of_one_script() -> None:
    both = "    - get_url: url=https://x.example/a dest=/tmp/a\n    - command: /tmp/a\n"
    assert commands(both) == ["curl -o /tmp/a https://x.example/a", "/tmp/a"]


def test_tasks_of_other_machines_are_none_of_this_one() -> None:
    assert commands("    - file: path=/srv/x state=absent\n", hosts="web") == []


@pytest.mark.parametrize(
    "text", ["", "hosts: localhost", "- hosts: localhost\n  tasks:\n    - file:", "- hosts: localhost\n" * 500]
)
def test_pieces_and_long_files_are_survived(text: str) -> None:
    assert list(local_tasks(text)) == []
