"""Shells: scripts that run unread, parts that cannot be followed, and shells handed to other programs."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Invocation, arg
from monitors.review.shell.shells import SHELLS, ShellUse, shell_use
from monitors.review.shell.state.copying import COPIERS, fetched

DOWNLOADS = frozenset({"curl", "wget", "aria2c", "fetch", "http", "https", "xh", "lwp-request", "lwp-download", "lynx", "nc", "ncat", "netcat", "socat", "ftp", "scp", "gh", "axel", "w3m", "links", "telnet", "openssl", "tftp", "dig", "gsutil", "aws"})  # fmt: skip
"""Programs whose output comes from another machine."""
DECODERS = frozenset(
    {
        "base64",
        "base32",
        "xxd",
        "openssl",
        "gpg",
        "uudecode",
        "gunzip",
        "zcat",
        "bzcat",
        "xzcat",
        "rev",
        "tr",
        "uncompress",
        "gzip",
    }
)
_INTERPRETERS = frozenset(
    {"python", "python2", "python3", "perl", "ruby", "node", "nodejs", "php", "lua", "bun", "deno", "rscript", "tclsh"}
)
_SESSIONS = frozenset({"screen", "tmux", "byobu", "zellij", "tclsh", "wish", "expect"})
_SHELL_PATH = re.compile(r"(?:^|[^\w./-])(?:/usr)?(?:/local)?/bin/(?:ba|da|z|k|c|tc|a|mk)?sh\b(?!/)(?![\w.-]*/)")
_BARE_SHELL = re.compile(
    r"(?:^|[^\w./!-])(?:/usr)?/bin/(?:ba|da|z|k|c|tc|a)?sh\b\s*(?!-c|[\"'],|[\w./$-])", re.MULTILINE
)
_NAMES_SHELLS = frozenset({"chsh", "usermod", "useradd", "adduser", "which", "type", "whereis", "command", "hash", "docker", "podman", "nerdctl", "kubectl", "oc", "docker-compose", "lxc", "ssh", "git", "ldd", "apt", "dpkg", "rpm", "alias", "export", "set", "grep", "sed", "man", "find", "ls", "file", "stat", "chmod", "exec", "sudo", "env", "crontab", "declare", "read", "local", "let", "time", "chroot", "xargs", "trap", "eval", "tee", "cat", "kill", "pkill", "pgrep", "ps", "strings", "update-alternatives", "systemd-nspawn", "srun", "terraform", "aws", "gcloud", "jq", "yq", "gh", "touch", "rm", "mkdir", "wc"})  # fmt: skip
"""Programs to which a shell's path is a name, or whose command is looked at by itself."""
_TYPED_SHELL = re.compile(r"!(?:/(?:usr/)?bin/)?(?:ba|da|z|k|c|tc|a)?sh\Z")
"""Text typed at a pager or client to get a shell out of it."""
_RUNS_WORD = re.compile(r"-(?:-?(?:exec|pager|shell|command|rsh|program|editor|wrapper|cmd|hook|browser)|[ecHP])\Z")
"""Options whose value is run, whatever else the program only reads."""
_CODE = frozenset({"-c", "-e", "-r", "-p", "-E", "--eval", "--print", "--execute"})
"""Options of interpreters whose value is code."""


def check(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Look at how shells are used, and at shells among the words."""
    if invocation.made_by:
        yield _unread(invocation, list(invocation.made_by), alone=invocation.name in SHELLS)
    use = shell_use(invocation)
    if use is not None:
        yield from _used(invocation, use)
        yield _from_pipe(scene, invocation, use)
        return
    if invocation.name in ("eval", "source", "."):
        fed = [] if invocation.args else list(invocation.input.source)  # fish reads its input then
        yield _unread(invocation, [*fed, *(source for word in invocation.args for source in word.source)])
        yield Finding(
            "shell.sources",
            levels.NOTED,
            "",
            effect=effect("process", f"runs {invocation.text()} in the shell itself", reversible=True),
        )
    elif (
        invocation.name in _INTERPRETERS
        and invocation.input.source
        and invocation.input.text is None
        and _reads_code(invocation)
    ):
        yield _unread(invocation, list(invocation.input.source))
    elif invocation.name in _INTERPRETERS and invocation.args:
        yield _fetched_code(invocation)
    elif invocation.name in _TAKES_CODE or _is_client(scene, invocation):
        yield _fed(invocation)
    elif invocation.name in _SESSIONS:
        yield _session(invocation)
    elif invocation.program.glob and invocation.program not in ("[", "[["):
        yield Finding(
            "shell.unknown-program",
            levels.HARM if invocation.program[:1] == "/" and _GLOB.search(invocation.name) else levels.MODERATE,
            f"runs whatever program fits {invocation.program}",
            "Write the program's name out.",
            effect=effect("process", f"runs {invocation.program}"),
        )
    elif not invocation.program.known and (
        invocation.program[:1] in "$`" or ("$" in invocation.program and "/" not in invocation.program)
    ):
        yield _unknown_program(invocation)
    elif _TYPED_SHELL.match(invocation.program):
        yield _interactive(invocation)
    yield _handed(scene, invocation)


_GLOB = re.compile(r"[*?\[{]")
_TAKES_CODE: Mapping[str, str] = {
    **dict.fromkeys(("make", "gmake", "bmake", "awk", "gawk", "mawk", "nawk", "just", "crystal", "jq"), r"-f|--file|--makefile|-"),
    **dict.fromkeys(("vim", "nvim", "vi", "ex", "emacs", "emacsclient"), r"-S|-s|-u|-l|--load|--script|-"),
    **dict.fromkeys(("sed", "gsed", "bc", "dc", "gdb", "lldb"), r"-f|-x|--file|--command|-s|--source"),
    **dict.fromkeys(("gradle", "gradlew", "ant", "rake", "bazel"), r"-b|--build-file|-I|--init-script|-f|--rakefile|-buildfile"),
    **dict.fromkeys(("gnuplot", "elixir", "iex", "ghci", "runghc", "swift", "julia", "octave", "clojure", "clj", "bb", "groovy", "scala", "sbcl", "guile", "racket", "ocaml", "m4", "osascript", "powershell", "pwsh", "jshell", "rscript", "r", "maxima", "gap", "fennel", "janet", "nu", "fish", "xonsh", "kotlinc", "dotnet-script", "csi"), r"-|-f|--file|/dev/stdin"),
}  # fmt: skip
"""Programs that run what they are given as a program of theirs, with the options before it, or the words for their
input. A shell, and an interpreter that is read as one, are judged elsewhere."""
_TAKES_STATEMENTS = r"-f|-c|-e|-q|-Q|--file|--command|--execute|--eval|--query"
_STATES = re.compile(r"-(?:[ceqfQxX]|-?(?:command|execute|eval|file|query|init-command|pipe))(?:=|\Z)|\.\w|\S+\s")
"""Words by which a client is given its statements, so that its input is what they work on."""


def _is_client(scene: Scene, invocation: Invocation) -> bool:
    """Whether a program takes statements or commands from its input."""
    program = scene.book.programs.get(invocation.name)
    return program is not None and program.fed


def _fed(invocation: Invocation) -> Finding | None:
    """Return the finding for a program of its own language that runs what is fetched: by its input, or as a file."""
    takes = _TAKES_CODE.get(invocation.name, _TAKES_STATEMENTS)
    for before, word in pairwise((arg(""), *invocation.args)):
        fetched_whole = word.source and word[:2] in ("$(", "<(") and word[-1:] == ")"
        named = re.fullmatch(takes, before) or (takes is _TAKES_STATEMENTS and before[:1] != "-")
        if fetched_whole and named and (found := _from_others(invocation, word.source)) is not None:
            return found
    if not invocation.input.source or invocation.input.text is not None:
        return None
    if takes is _TAKES_STATEMENTS:
        listens = not any(map(_STATES.match, invocation.args))
    else:
        listens = "-" in invocation.args or (not invocation.args and takes[:2] == "-|")
    return _from_others(invocation, invocation.input.source) if listens else None


def _from_others(invocation: Invocation, sources: Iterable[Invocation]) -> Finding | None:
    """Return the finding for running what a download from another machine brings."""
    loud = next((one for one in sources if downloads(one) and any(map(_ADDRESS.match, one.args))), None)
    return None if loud is None else _download(invocation, loud.text())


def _reads_code(invocation: Invocation) -> bool:
    """Whether an interpreter takes its code from its input: by `-`, whatever follows, or because no other is named."""
    for word in invocation.args:
        if word in ("-", "/dev/stdin", "/dev/fd/0"):
            return True
        if word[:1] != "-" or word in _CODE or word[:2] in ("-c", "-e", "-m"):
            return False
    return True


def _used(invocation: Invocation, use: ShellUse) -> Iterator[Finding | None]:
    yield _unread(invocation, list(use.source))
    terminal = use.file is not None and "tty" in use.file
    if use.interactive or terminal or (use.piped and "-i" in invocation.args):
        yield _interactive(invocation)
    elif use.piped and not use.source and use.file is None:
        yield Finding(
            "shell.run-piped",
            levels.CARE,
            "runs commands that come down a pipe, unread",
            "Write them to a file, and read it first.",
            effect=effect("code_execution", "a shell runs its input"),
        )


PIPES = frozenset({"mkfifo", "mknod"})
"""Programs that make pipes with a name."""
_HANDS_ON = frozenset({"cat", "tail", "head", "tee", "dd", "pv"})


def pipes(scene: Scene, one: Invocation) -> Iterator[str]:
    """Yield the paths of the pipes that a command of `PIPES` makes."""
    named = one.operands(("-m", "--mode"))
    if one.name == "mknod":
        named = named[:1] if named[1:2] == ["p"] else []
    yield from (scene.path(word, one) for word in named if word.known)


def _from_pipe(scene: Scene, invocation: Invocation, use: ShellUse) -> Finding | None:
    """Return the finding for a shell that reads from a pipe with a name, into which anything may be written later."""
    if invocation.input.text is not None or use.text is not None:
        return None
    # A launcher before it has its redirections: `nohup sh < p`.
    around = [one for one in scene.commands if one is invocation or (invocation.via and one.input is invocation.input)]
    read = [(redirect.target, one) for one in around for redirect in one.redirects if redirect.reads]
    read += [(word, one) for one in invocation.input.source if one.name in _HANDS_ON for word in one.args]
    read += [(use.file, invocation)] if use.file is not None else []
    named = {scene.path(word, one) for word, one in read if word.known}
    if not named:
        return None
    made = {path for one in scene.commands if one.name in PIPES for path in pipes(scene, one)}
    made |= {path for path, origin in scene.past.items() if origin.how == "pipe"}
    if named.isdisjoint(made):
        return None
    return Finding(
        "shell.run-piped",
        levels.HARM,
        f"runs whatever is written into {scene.places.shown(min(named & made))} later, unread",
        "Run the commands themselves.",
        effect=effect("code_execution", "a shell runs what comes through a pipe"),
        elevated=invocation.elevated,
    )


def _fetched_code(invocation: Invocation) -> Finding | None:
    """Code that an interpreter is given out of a download or a decoder."""
    before: str = ""
    for word in invocation.args:
        if before in _CODE:
            return _unread(invocation, [one for one in word.source if one.name in DOWNLOADS or one.name in DECODERS])
        fetched = [one for one in word.source if one.name in DOWNLOADS or one.name in DECODERS]
        if fetched and word[:1] != "-":
            return _unread(invocation, fetched)
        if word[:1] != "-":
            return None
        before = word
    return None


def _interactive(invocation: Invocation) -> Finding | None:
    if invocation.inside.startswith("container"):
        return Finding(
            "shell.in-container", levels.MODERATE, "", effect=effect("process", f"opens a shell in {invocation.inside}")
        )
    return Finding(
        "shell.interactive", levels.HARM, "opens a shell, and nobody reviews what is typed into it", "Run the commands themselves.",
        effect=effect("process", f"opens the shell {invocation.program}"), elevated=invocation.elevated,
    )  # fmt: skip


def _session(invocation: Invocation) -> Finding | None:
    named = [word for word in invocation.args if word[:1] != "-"]
    listing = {
        "-V",
        "-v",
        "-ls",
        "-list",
        "--version",
        "-d",
        "-dmS",
        "-dm",
        "-X",
        "-c",
        "-x",
        "-wipe",
        "-r",
        "-D",
        "-R",
        "-h",
        "--help",
    }
    if (named and "-S" not in invocation.args) or listing.intersection(invocation.args) or invocation.input.text:
        return None
    return _interactive(invocation)


def _unread(invocation: Invocation, sources: list[Invocation], *, alone: bool = True) -> Finding | None:
    """Return the finding for running what these commands make; `alone` if that is so whatever they are."""
    loud = next((source for source in sources if downloads(source) or _asks_others(source)), None)
    if loud is not None:
        return _download(invocation, loud.text())
    cloned = next((source for source in sources if source.name in ("git", "hg", "svn", "gh") and fetched(source)), None)
    if cloned is not None:
        script = invocation.name in SHELLS or invocation.name in ("source", ".") or "/" in invocation.program
        harm = (
            script or invocation.elevated or from_strangers(cloned.text())
        )  # to build what was cloned is how others' code is had
        return _download(invocation, cloned.text(), levels.HARM if harm else levels.CARE)
    hidden = next((source for source in sources if source.name in DECODERS), None)
    if hidden is not None:
        return Finding(
            "shell.run-hidden", levels.HARM, f"runs what `{hidden.text()}` makes of something, unread", "Decode it to a file, read it, then run it.",
            effect=effect("code_execution", "runs decoded text"), elevated=invocation.elevated,
        )  # fmt: skip
    made = _respelled(sources) if alone else None
    if made is not None:
        return Finding(
            "shell.run-hidden",
            levels.HARM,
            f"runs what `{made.text()}` makes of a text that stands in the command itself, unread",
            "Write the commands out.",
            effect=effect("code_execution", "runs a text that is spelled otherwise"),
            elevated=invocation.elevated,
        )
    if alone and sources and invocation.name not in ("source", "."):
        return Finding(
            "shell.run-generated",
            levels.CARE if invocation.name != "eval" else levels.MODERATE,
            f"runs what `{sources[0].text()}` prints, unread",
            "Print it first, read it, then run it.",
            effect=effect("code_execution", "runs what a command prints"),
        )
    return None


_STRANGER = re.compile(
    r"://gist\.github\.com/|(?:https?|git|ssh)://(?!(?:[\w-]+@)?(?:[\w.-]+\.)?(?:github\.com|githubusercontent\.com|gitlab\.com|bitbucket\.org|codeberg\.org|sr\.ht|googlesource\.com|gnu\.org|kernel\.org|apache\.org|debian\.org|visualstudio\.com|azure\.com|huggingface\.co|internal|corp|lan|local|intranet|freedesktop\.org|gnome\.org|kde\.org|savannah\.\w+|launchpad\.net|sourceforge\.net|python\.org|mozilla\.org|videolan\.org|ffmpeg\.org)[/:]|localhost|127\.)",
    re.IGNORECASE,
)


def from_strangers(text: str) -> bool:
    """Whether a command names an address that is of no known forge and of no network of one's own."""
    return _STRANGER.search(text) is not None


_FILTERS = frozenset({"sed", "gsed", "awk", "gawk", "mawk", "jq", "yq", "cut", "tr", "perl", "ruby", "python", "python3", "node", "php", "fold", "paste", "dc", "bc", "m4", "envsubst", "column", "fmt", "iconv"})  # fmt: skip
"""Programs that make another text of one."""
_TEXT_CODE = re.compile(r"-[a-zA-Z]{0,3}[cerE]\Z|BEGIN\b")


def _respelled(sources: list[Invocation]) -> Invocation | None:
    """Return the filter if all that it works on stands in the command itself, so that its only use is to hide."""
    last = next((source for source in sources if source.name in _FILTERS), None)
    if last is None or not all(word.known and not word.glob for word in last.args):
        return None
    own = any(_TEXT_CODE.match(word) for word in last.args) and not last.input.given
    return last if own or (last.input.text and not last.input.source) else None


def downloads(invocation: Invocation) -> bool:
    """Whether what it prints or writes comes from another machine. A clone does not count: it is how code is had."""
    if invocation.name in ("git", "hg", "svn"):
        return False
    if invocation.name in COPIERS and invocation.name not in DOWNLOADS:
        return fetched(invocation) is not None
    return invocation.name in DOWNLOADS and not (invocation.name == "gh" and fetched(invocation) is not None)


_REMOTE_TEXT: dict[str, frozenset[str]] = {
    **dict.fromkeys(("rclone", "mc", "gsutil", "s3cmd", "az"), frozenset({"cat", "cp", "copyto", "download"})),
    **dict.fromkeys(("kubectl", "oc"), frozenset({"get", "logs", "exec", "cp"})),
    **dict.fromkeys(
        ("etcdctl", "consul", "vault", "nats", "doppler"), frozenset({"get", "kv", "read", "sub", "request", "secrets"})
    ),
}
_HOSTS = frozenset({"-h", "--host", "-S", "-a", "--url", "-u", "--uri"})
_ADDRESS = re.compile(r"[a-z+]{2,10}://(?!localhost|127\.|\[::1\]|0\.0\.0\.0)", re.IGNORECASE)
_OWN_TEXT = frozenset({"git", "hg", "svn", "echo", "printf", "cat", "sed", "awk", "jq", "grep", "tee", "sort", "head", "tail", "tr", "envsubst", "completion", "npm", "npx", "pip", "docker", "helm", "terraform"})  # fmt: skip


def _asks_others(invocation: Invocation) -> bool:
    """Whether a program that is no downloader prints what another machine holds: by an address, or a host."""
    name, words = invocation.name, [str(word) for word in invocation.args[:60]]
    if invocation.inside.startswith("host") or (name in ("ssh", "mosh") and len(words) > 1):
        return True
    if name in ("git", "hg", "svn"):
        return any(word.startswith("--remote=") for word in words) or words[:1] in (["cat"], ["export"])
    if name in _REMOTE_TEXT:
        return not _REMOTE_TEXT[name].isdisjoint(words[:6])
    if name in ("redis-cli", "valkey-cli", "psql", "mysql", "mariadb", "mongosh", "sqlcmd"):
        given = [after for option, after in pairwise(words) if option in _HOSTS]
        return any(not _LOCAL.match(each) for each in given) or any(map(_ADDRESS.match, words))
    return name not in _OWN_TEXT and any(map(_ADDRESS.search, words))


_LOCAL = re.compile(r"(?:localhost|127\.|/|::1)")


def _download(invocation: Invocation, what: str, risk: float = levels.HARM) -> Finding:
    return Finding(
        "shell.run-download", risk, f"runs what `{what}` brings, unread", "Download it to a file, read it, then run it.",
        effect=effect("code_execution", f"runs what `{what}` downloads"), elevated=invocation.elevated,
    )  # fmt: skip


def _unknown_program(invocation: Invocation) -> Finding | None:
    flags = "".join(word[1:] for word in invocation.args if re.fullmatch(r"-[a-zA-Z]+", word))
    if ("r" in flags.lower() and "f" in flags) or "--force" in invocation.args or "--hard" in invocation.args:
        return Finding(
            "shell.unknown-destructive",
            levels.HARM,
            f"runs a program that is not known, {invocation.program}, the way one deletes",
            "Write the program's name out.",
            effect=effect("process", "runs a program that is not known"),
        )
    downloaded = [source for source in invocation.program.source if source.name in DOWNLOADS]
    if downloaded:
        return _download(invocation, downloaded[0].text())
    return Finding(
        "shell.unknown-program",
        levels.MODERATE,
        f"runs a program that is not known: {invocation.program}",
        "Write the program's name out.",
        effect=effect("process", f"runs {invocation.program}"),
    )


def _handed(scene: Scene, invocation: Invocation) -> Finding | None:
    """A shell's path among the words, in the input, or in a file written on the way and used now."""
    name = invocation.name
    if not name or name in SHELLS or name in _NAMES_SHELLS or invocation.inside.startswith("container"):
        return None
    shown = "/bin/" in " ".join(invocation.args)
    if not (shown or invocation.input.text or scene.planting):
        return None
    if scene.reads_only(invocation):
        run = [word for before, word in pairwise(("", *invocation.args)) if word[:1] == "-" or _RUNS_WORD.match(before)]
        word = next((word for word in run if "/bin/" in word and _SHELL_PATH.search(word)), None)
        return _found(invocation, word) if word is not None else None
    word = next((word for word in invocation.args if "/bin/" in word and _SHELL_PATH.search(word)), None)
    if word is not None and not _launched_alone(scene, invocation, word):
        return _found(invocation, word)
    if invocation.input.text and (
        ("/bin/" in invocation.input.text and _BARE_SHELL.search(invocation.input.text))
        or (name == "m4" and "syscmd" in invocation.input.text)
    ):
        return _found(invocation, "its input")
    if scene.planting and name not in ("cp", "mv", "ln"):
        named = (scene.path(word, invocation) for word in invocation.args if word.known)
        planted = next((path for path in named if path in scene.planting), None)
        if planted is not None:
            return _found(invocation, scene.places.shown(planted))
    return None


def plants_shell(text: str) -> bool:
    """Whether a file names a shell for the program that reads it."""
    return "/bin/" in text and _BARE_SHELL.search(re.sub(r"^#!.*", "", text)) is not None


def _launched_alone(scene: Scene, invocation: Invocation, word: str) -> bool:
    """Whether a known launcher starts the shell.

    Such a shell is reviewed by itself, with arguments that make it harmless.
    """
    if _SHELL_OF_MAKE.match(word) and invocation.name in ("make", "gmake", "bmake"):
        return True  # its recipes are reviewed as scripts
    return invocation.name in scene.launchers and word != invocation.args[-1]


_SHELL_OF_MAKE = re.compile(r"SHELL=(?:/usr)?/bin/(?:ba|da|z|k)?sh\Z")


def _found(invocation: Invocation, where: str) -> Finding:
    return Finding(
        "shell.handed", levels.HARM, f"hands a shell to {invocation.name}: {where[:120]}", "Run the commands themselves.",
        effect=effect("process", f"{invocation.name} starts a shell"), elevated=invocation.elevated,
    )  # fmt: skip
