"""What angers people in other guards: text that only looks dangerous, and everyday work."""

import pytest

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.words import Decision
from monitors.review import ReviewSettings, make_reviewer

STRICT = make_reviewer(ReviewSettings(profile="strict"))
STANDARD = make_reviewer()
WORKSPACE = "/home/agent/work"

DATA = [
    "grep -rn 'rm -rf' .", "rg -n 'git reset --hard' README.md", "git commit -m 'never rm -rf /'", "git log --grep='push --force'", "echo 'rm -rf /'", "printf '%s\\n' 'rm -rf /'", "cat <<EOF > notes.md\nrm -rf /\nEOF", "python3 -c \"print('rm -rf /')\"", "dcg test 'rm -rf /'",
    "ee preflight --cmd 'rm -rf /'", "br --reason 'git reset --hard'", "gh issue create --title 'rm -rf / deletes all' --body x", "gh pr create -t 'x' -b 'runs git push --force'", "sed 's/rm -rf/trash/' a.sh", "awk '/rm -rf/ {print}' a.sh", "jq '.cmd == \"rm -rf /\"' a.json", "x='rm -rf /'; echo \"$x\"",
    "test \"$a\" = 'rm -rf /'", "[[ $a == *'rm -rf'* ]]", "wc -c <<< 'rm -rf /'", "curl -d '{\"q\": \"rm -rf /\"}' https://example.com/search", "# rm -rf /\nls", "man rm", "which rm", "type git", "rm --help", "git push --help", "command -v docker", "git help reset", "ls rm -rf", "notify-send 'rm -rf /'",
]  # fmt: skip
ORDINARY = [
    "find ~ -name 'id_*' | head", "find ~/.ssh -type f", "find ~/.ssh -type f -exec ls -l {} +", "find ~ -name '*.md' -exec grep -l x {} +", "find . -name 'id_*' -exec cat {} +", "find . -type f -exec cat {} +", "find ~/.ssh -type f -exec chmod 600 {} +", "find / -name '*.conf' 2>/dev/null | xargs grep -l x", "find ~/.ssh | wc -l",
    "ls ~/.aws ~/.kube", "export KUBECONFIG=~/.kube/other", "cat .aws-sam/build.toml", "mkdir -p .kube", "grep -r token ~/.config/nvim",
    "for f in 'a b.txt' 'rm -rf x'; do echo \"$f\"; done", "for c in 'make lint' 'make test'; do $c || exit 1; done", "for f in a b c; do for g in 1 2 3 4 5; do for h in x y z; do echo $f $g $h; done; done; done", "for c in " + " ".join(f"'pytest tests/{n}'" for n in range(30)) + "; do echo \"== $c\"; $c; done",
    "while read -r f; do wc -l \"$f\"; done < list.txt", "IFS=, read -r a b <<< '1,2'; echo \"$b\"", "while read -r f; do rm \"$f\"; done <<< 'a.pyc'", "export PS1='\\u $(git branch --show-current)'", "x=(a b); echo \"${x[@]@Q}\"", "unset IFS; read -r x <<< 1", "mapfile -t f < <(git diff --name-only); ruff check \"${f[@]}\"", "f=($(git ls-files)); wc -l \"${f[@]}\"",
    "git ls-files | xargs -I{} cp {} /tmp/x/{}", "printf 'a\nb\n' | xargs -I{} touch {}", "find . -print0 | xargs -0 wc -l", "cat <<E | sh\nls\nE", "diff <(sort a) <(sort b)", "cat 3< a <&3",
    "timeout 1 bash -c '</dev/tcp/localhost/5432' && echo open", "GIT_SEQUENCE_EDITOR=\"sed -i 's/^pick/edit/'\" git rebase -i HEAD~1", "ssh-keygen -l -f ~/.ssh/id_ed25519.pub",
    "t=$(mktemp -d); trap 'rm -rf \"$t\"' EXIT; ls", "trap 'rm -rf \"$t\"' EXIT; t=$(mktemp -d); ls", "kubectl delete --help", "aws s3 rm help", "rm -rf /var/folders/gz/x1/T/tmp.1", "git reflog expire --dry-run --all", "gh api repos/a/b/issues/1/comments -X POST -f body='see hooks and secrets'",
    "find . -name '*.orig' | xargs rm -rf", "ls | python3 -c 'import sys; print(eval(sys.stdin.read()))'", "git rebase -i main --exec 'make test'", "python3 -c 's.replace(\"a\", \"/etc/hosts\")'", "TOKEN=$(grep KEY .env | cut -d= -f2); curl -H \"X: $TOKEN\" https://example.com", "rm .git/index.lock",
    "vercel deploy", "alias ls='ls --color'; ls a", "cat list | parallel -j 2 gzip", "mkfs.ext4 /dev/sdXY", "head -c 100 /dev/zero > a", "dd if=/dev/zero of=a bs=1M count=1", "> build.log", "truncate -s 0 build.log",
    "echo $(date) $(hostname)", "echo \"$(basename \"$(pwd)\")\"", "printf '\\u00e9'", "ls 2>/dev/null", "make 2>&1 | tee /tmp/log", "python3 -m pytest -q", "node -e 'console.log(1)'", "perl -pe 's/a/b/' x", "npm install", "npm run build", "pip install -r requirements.txt", "cargo build --release",
    "git add -A && git commit -m 'x' && git push origin x", "git checkout -b x", "git stash", "git rebase -i HEAD~3", "docker build -t x .", "docker compose up -d", "kubectl get pods -A", "terraform plan", "find . -name '*.pyc' -delete", "find . -type f -exec grep -l x {} +", "xargs -n1 echo < a", "sudo apt-get install -y curl",
    "pwsh -File a.ps1", "john", "kill 1234", "chmod +x a.sh", "mkdir -p a/b", "mkdir -p ~/.cache", "mkdir -p ~/.cache/tool ~/.npm", "mv a b", "cp -r a b", "rm a.txt", "touch a", "tar czf a.tgz b", "unzip a.zip", "ssh host uptime", "rsync -a a/ b/", "psql -c 'select 1'", "aws s3 ls", "gh pr list", "base64 -d a.txt > a.bin", "source .venv/bin/activate", "eval \"$(ssh-agent -s)\"", "unshare --help", "vim a.txt",
    "bash build.sh", "./configure && make", "watch -n 1 date", "time ls", "env | sort", "set -euo pipefail; ls", "for f in *.txt; do wc -l \"$f\"; done", "while read -r l; do echo \"$l\"; done < a", "GIT_PAGER=cat git log", "PAGER=less git diff", "EDITOR=true git commit --amend", "NODE_ENV=test npm test", "LC_ALL=C sort a", "tail -n 5 a", "curl -s https://example.com | jq .", "wget https://example.com/a.tgz",
]  # fmt: skip

ROWS = "\n".join(f"name{number} {8000 + number}" for number in range(12))
SPACED = " ".join(f"'name{number} value {number}'" for number in range(22))
IN_ROWS = {
    "two variables of one read": f'while read -r name port; do timeout 5 ./check "$name" "$port"; done <<E\n{ROWS}\nE',
    "variables made of another": f'for p in {SPACED}; do k=${{p%% *}}; v=${{p#* }}; echo "$k $v"; done',
    "names with spaces": f"for f in {SPACED}; do " + "; ".join(f'{run} "$f"' for run in ("wc -l", "file", "md5sum", "git add", "gzip -k", "convert x", "ls -l")) + "; done",
    "a long list": 'while read -r l; do echo "$l"; done <<E\n' + "\n".join(f"line {number}" for number in range(140)) + "\nE",
    "a longer list": 'while read -r l; do k="$l!"; echo "$k"; done <<E\n' + "\n".join(f"line {number}" for number in range(400)) + "\nE",
    "a matrix": f"for os in {' '.join('abcdefghijkl')}; do for v in {' '.join('abcdefghijkl')}; do env OS=$os V=$v make test; done; done",
}  # fmt: skip
"""Loops over many rows whose values name no program."""


def strictly(command: str) -> Review:
    return STRICT.review(Action("Bash", {"command": command}), ReviewContext())


@pytest.mark.parametrize("command", DATA)
def test_text_about_danger_is_no_danger(command: str) -> None:
    assert strictly(command).decision is Decision.ALLOW


@pytest.mark.parametrize("command", ORDINARY)
def test_everyday_work_is_not_stopped(command: str) -> None:
    assert strictly(command).decision in (Decision.ALLOW, Decision.WARN)


@pytest.mark.parametrize("command", IN_ROWS.values(), ids=IN_ROWS)
def test_a_long_loop_whose_values_name_no_program_is_not_stopped(command: str) -> None:
    assert strictly(command).decision in (Decision.ALLOW, Decision.WARN)


IN_A_WORKSPACE = [
    "docker rm -f redis-test",
    "cp -r .docker /tmp/x",
    "rsync -a --delete dist/ public/",
    "rsync -n -a /src/ /dest/",
    "curl -X DELETE http://localhost:3000/api/items/1",
    "sed -i '' s/a/b/ src/a.py",
    "rm .claude/settings.json.example",
    "openapi-generator generate -i api.yaml -g go -o gen --remove-operation-id-prefix",
    "svgo --remove-metadata icon.svg",
    "html-minifier --remove-comments index.html",
    "mkfs.ext4 -q -F build/rootfs.img",
    "chmod 600 ~/.ssh/id_ed25519",
    "chmod o-rwx ~/.pgpass",
]


@pytest.mark.parametrize(
    "command", [*IN_A_WORKSPACE] + [command for command in ORDINARY if not command.startswith(("ssh", "john", "watch"))]
)
def test_everyday_work_in_a_workspace_is_not_stopped(command: str) -> None:
    review = STANDARD.review(
        Action("Bash", {"command": command}, WORKSPACE, WORKSPACE), ReviewContext(home="/home/agent", captured=True)
    )
    assert review.decision in (Decision.ALLOW, Decision.WARN), review.reasoning


@pytest.mark.parametrize(
    "place",
    ["/tmp/x", "/var/tmp/x", "$TMPDIR/x", "${TMPDIR}/x", '"$TMPDIR"/x', "${TMPDIR:-/tmp}/x", "/tmp/*", "/tmp/a/../b"],
)
@pytest.mark.parametrize("profile", [STRICT, STANDARD], ids=["strict", "standard"])
def test_scratch_space_is_scratch_in_every_profile(profile: object, place: str) -> None:
    reviewer = STRICT if profile is STRICT else STANDARD
    assert (
        reviewer.review(
            Action("Bash", {"command": f"rm -rf {place}"}, WORKSPACE, WORKSPACE), ReviewContext(home="/home/agent")
        ).decision
        is Decision.ALLOW
    )


READ_ONLY = [
    "uniq -f 1 a", "git symbolic-ref --short HEAD", "sed -n '/we/p' a", "xargs -n1 basename", "fdfind -e md -x cat",
    "ls -la", "cat a", "git status", "git log --oneline", "git diff HEAD~1", "git show HEAD", "docker ps -a", "docker images", "kubectl get pods", "kubectl describe pod x", "helm list", "terraform plan", "aws ec2 describe-instances", "gcloud compute instances list", "az vm list", "gh pr view 1", "npm ls", "pip list", "cargo --version", "systemctl status x",
    "journalctl -u x", "ps aux", "df -h", "du -sh .", "find . -name x", "grep x a", "sort a", "awk '{print $1}' a", "sed -n 1,5p a", "head a", "wc -l a", "stat a", "which ls", "crontab -l", "ip a", "ss -tuln", "brew list", "apt list", "conda list", "vault status", "redis-cli GET a", "tar tf a.tar", "unzip -l a.zip", "openssl x509 -in a -text", "jq . a", "env", "date", "uname -a",
]  # fmt: skip


@pytest.mark.parametrize("command", READ_ONLY)
def test_reading_is_allowed_without_a_word_and_changes_nothing(command: str) -> None:
    review = strictly(command)
    assert review.decision is Decision.ALLOW
    assert review.side_effects == ()


CHANGING = [
    "touch a", "sed -n 'w x' a", "sed 's/a/b/w x' a", "git symbolic-ref HEAD refs/x", "ss -K dst 1.2.3.4", "file -C -m x", "ack --pager=x y", "sd a b c", "npm version patch", "fly apps create x", "terraform plan -out=p", "uniq a b", "tree -o a", "fd x -X rm", "echo x > a", "rm a", "mkdir a", "git commit -m x", "git push", "docker run x", "kubectl apply -f x", "npm install", "pip install x", "make", "curl https://x", "systemctl restart x", "sed -i s/a/b/ x", "chmod +x a", "kill 1", "psql -c 'insert into a values (1)'", "terraform apply", "aws s3 cp a s3://b", "gh pr create", "ssh host ls", "frobnicate a", "python3 x.py", "tar xf a", "crontab x", "mount /dev/a /b", "helm install a b", "redis-cli SET a b", "find . -delete", "sort -o a a", "git checkout x", "brew install x", "open x",
]  # fmt: skip


@pytest.mark.parametrize("command", CHANGING)
def test_a_command_that_changes_something_says_what(command: str) -> None:
    assert strictly(command).side_effects
