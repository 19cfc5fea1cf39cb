"""What files of infrastructure open to everybody."""

import pytest

from monitors.review.languages.project.openings import openings, switched_off


def ingress(first: int, last: int, source: str = '["0.0.0.0/0"]', kind: str = "ingress") -> str:
    return f'resource "aws_security_group" "a" {{\n  {kind} {{\n    from_port   = {first}\n    to_port     = {last}\n    cidr_blocks = {source}\n  }}\n}}\n'


@pytest.mark.parametrize(
    ("path", "text", "what"),
    [
        ("/infra/sg.tf", ingress(22, 22), "a port of a shell, a database or all of them"),
        ("/infra/sg.tf", ingress(0, 65535), "a port of a shell, a database or all of them"),
        ("/infra/sg.tf", ingress(5000, 6000), "a port of a shell, a database or all of them"),
        (
            "/infra/fw.tf",
            'resource "google_compute_firewall" "a" {\n  source_ranges = ["0.0.0.0/0"]\n  allow {\n    ports = ["3389"]\n  }\n}\n',
            "a port of a shell, a database or all of them",
        ),
        (
            "/infra/sg.tf",
            'ingress {\n  protocol = "-1"\n  cidr_blocks = ["0.0.0.0/0"]\n}\n',
            "a port of a shell, a database or all of them",
        ),
        ("/infra/db.tf", 'resource "aws_db_instance" "a" {\n  publicly_accessible = true\n}\n', "a database"),
        (
            "/iam.tf",
            'assume_role_policy = jsonencode({Statement = [{Effect = "Allow", Principal = { AWS = "*" }}]})',
            "a role",
        ),
        (
            "/k8s/rbac.yaml",
            "kind: ClusterRoleBinding\nroleRef:\n  name: cluster-admin\nsubjects:\n  - kind: Group\n    name: system:anonymous\n",
            "a cluster",
        ),
        ("/infra/eks.tf", 'cluster_endpoint_public_access_cidrs = ["0.0.0.0/0"]\n', "an endpoint"),
        ("/firestore.rules", "match /{x=**} { allow read, write: if true; }", "a store for writing"),
        ("/database.rules.json", '{"rules": {".read": true, ".write": true}}', "a store for writing"),
    ],
)
def test_what_no_stranger_has_to_reach_is_told_where_it_is_opened(path: str, text: str, what: str) -> None:
    assert list(openings(path, text)) == [what]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/infra/sg.tf", ingress(443, 443)),
        ("/infra/sg.tf", ingress(8000, 8080)),
        ("/infra/sg.tf", ingress(22, 22, '["10.0.0.0/8"]')),
        ("/infra/sg.tf", ingress(0, 0, kind="egress")),
        ("/infra/dev/sg.tf", ingress(22, 22)),
        ("/docs/sg.md", ingress(22, 22)),
        ("/infra/db.tf", "publicly_accessible = false\n"),
        (
            "/iam.tf",
            'policy = jsonencode({Statement = [{Effect = "Allow", Principal = "*", Action = "s3:GetObject"}]})',
        ),
        ("/k8s/rbac.yaml", "kind: RoleBinding\nsubjects:\n  - kind: ServiceAccount\n    name: ci\n"),
        ("/firestore.rules", "match /{x=**} { allow read: if true; allow write: if request.auth != null; }"),
    ],
)
def test_what_is_for_all_and_what_is_for_trial_may_be_open(path: str, text: str) -> None:
    assert not list(openings(path, text))


@pytest.mark.parametrize(
    ("path", "before", "after", "off"),
    [
        ("/infra/s3.tf", "block_public_acls = true\n", "block_public_acls = false\n", ["block_public_acls"]),
        ("/helm/values.yaml", "tls:\n  enabled: true\n", "tls:\n  enabled: false\n", ["tls"]),
        ("/infra/s3.tf", "block_public_acls = false\n", "block_public_acls = false\n", []),
        ("/infra/s3.tf", "", "block_public_acls = false\n", []),
        ("/infra/dev/s3.tf", "deletion_protection = true\n", "deletion_protection = false\n", []),
        ("/helm/values.yaml", "metrics:\n  enabled: true\n", "metrics:\n  enabled: false\n", []),
    ],
)
def test_an_edit_that_turns_a_safeguard_off_is_told_by_its_key(
    path: str, before: str, after: str, off: list[str]
) -> None:
    assert list(switched_off(path, before, after)) == off
