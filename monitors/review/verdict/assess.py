"""The assessment of one command: the models, the rules and the general checks, one after the other."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from monitors.contract.words import Severity
from monitors.review.checks import (
    carried,
    code,
    environment,
    guard,
    lists,
    packages,
    secrets,
    sending,
    shells,
    statements,
    verbs,
)
from monitors.review.checks.lookalikes import lookalike
from monitors.review.knowledge.book import PROGRAMS
from monitors.review.languages.code.uses import Uses
from monitors.review.languages.interpreters import is_interpreter
from monitors.review.programs import outputs, patching
from monitors.review.programs.coreutils import ENDLESS, FILLERS, MODELS, fills, fills_all, has, takes_lines
from monitors.review.programs.unheld import REGENERATED
from monitors.review.programs.writing import writes
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect, not_read_to_its_end
from monitors.review.rules.rules import Program, Rule
from monitors.review.scene.places import Place
from monitors.review.scene.scene import MAX_SEARCHED, Scene
from monitors.review.script_files import as_program
from monitors.review.shell.invocation import Arg, Invocation, Redirection, Setting, arg
from monitors.review.shell.shells import SHELLS
from monitors.review.verdict.own import takes_back
from monitors.review.verdict.scopes import (
    SCOPED,
    SHARED,
    changes_production,
    deploys_to_production,
    is_rehearsal,
    names_production,
)


def judge(scene: Scene, invocation: Invocation, uses: Uses | None) -> Iterator[Finding]:
    """Everything there is to say of the invocation.

    Args:
        scene: the action around it.
        invocation: the command.
        uses: what the code does that it gives to an interpreter, where it gives any.
    """
    for found in _checks(scene, invocation, uses):
        if found is not None:
            yield _in_production(scene, invocation, found) if levels.MINOR <= found.risk <= levels.CARE else found


def _in_production(scene: Scene, invocation: Invocation, found: Finding) -> Finding:
    """Return a finding that asks for care, as harm if it is about what others have in production."""
    if (
        found.risk == levels.CARE
        and invocation.inside[:4] == "host"
        and any(one.name in _ON_MANY for one in scene.commands)
    ):
        return replace(found, risk=levels.HARM, why=f"{found.why}, on many machines at once")
    about = found.effect is not None and (found.effect.type in SHARED or bool(invocation.inside))
    if found.risk < levels.CARE and (
        found.effect is None
        or found.effect.type not in _PRODUCED
        or not changes_production(invocation, scene.book.operands(invocation), scene.production)
    ):
        return found
    if not about or found.rule.startswith("secrets.") or not names_production(invocation, scene.production):
        return found
    return replace(found, risk=levels.HARM, why=f"{found.why} in production", instead=_BY_A_PERSON)


_ON_MANY = frozenset(
    {"pssh", "parallel-ssh", "clush", "pdsh", "dsh", "mussh", "ansible", "salt", "knife", "bolt", "mco", "cexec"}
)
"""Launchers that start a command on many machines."""
_BY_A_PERSON = "Prepare it, and let a person do it in production."


def _checks(scene: Scene, invocation: Invocation, uses: Uses | None) -> Iterator[Finding | None]:
    for redirect in invocation.redirects:
        if redirect.writes:
            how = "empties" if _empties(invocation, redirect) else "writes"
            yield writes(scene, invocation, redirect.target, how=how, over=redirect.operator in (">", ">|", "&>"))
            if ENDLESS.intersection(invocation.args) and invocation.name in ("cat", "pv", "tee"):
                yield fills(scene, invocation, redirect.target)
        if redirect.reads:
            yield secrets.secret_at(scene, invocation, redirect.target)
        if _CONNECTS.match(redirect.target) or redirect.operator in (">&", "<&"):
            yield from _connected(scene, invocation, redirect)
    if invocation.redirects or invocation.name in carried.PLACERS:
        yield from carried.shown_on_web(scene, invocation)
    if invocation.assignments:
        yield from environment.check(scene, invocation)
    if not invocation.program:
        return
    yield from shells.check(scene, invocation)
    yield from secrets.guard(scene, invocation)
    if invocation.name in guard.SIGNALS and guard.ends_nothing(invocation):
        return
    if invocation.name in guard.PROGRAMS:
        yield from guard.check(invocation)
    yield from secrets.check(scene, invocation)
    name = invocation.name
    if name in sending.PROGRAMS or invocation.args[:1] == ["s_client"]:
        yield from sending.check(scene, invocation)
    if name in packages.RUNNERS:
        yield from packages.check(scene, invocation)
    if name in carried.PROGRAMS:
        yield from carried.check(scene, invocation)
    if name in lists.PROGRAMS:
        yield from lists.check(scene, invocation)
    if name in statements.PROGRAMS or not _described(scene, name):
        for lost in statements.check(scene, invocation):
            yield replace(lost, risk=levels.CARE) if is_rehearsal(invocation) else lost
    if uses is not None:
        for told in code.check(scene, invocation, uses):
            own = told and told.rule == "code.listens" and _shows_own(scene, invocation)
            own = own or (told and told.rule == "message.many" and is_rehearsal(invocation))
            yield _eased(told) if told and own else told
    model = MODELS.get(name)
    if model is not None:
        yield from model(scene, invocation)
    if name in ("sed", "gsed"):
        yield from takes_lines(scene, invocation)
    if model is None or name == "find":
        yield from outputs.check(scene, invocation)
    if name in FILLERS:
        yield from fills_all(scene, invocation)
    if name in patching.PROGRAMS:
        yield from patching.check(scene, invocation)
    if name in _ENDLESS:
        yield _endless(scene, invocation)
    if name in _BURNERS:
        yield _burns(scene, invocation)
    if name == "git":
        yield _all_refs(invocation)
        yield environment.in_name_of_another(scene, invocation)
        yield from carried.committed(scene, invocation)
    yield lookalike(invocation, scene.book.programs)
    yield from _known(scene, invocation, described=model is not None)


def _described(scene: Scene, name: str) -> bool:
    """Whether what a program does with its input and its words is known."""
    return (
        name in scene.book.programs
        or name in MODELS
        or name in scene.launchers
        or name in SHELLS
        or is_interpreter(name)
    )


def _connected(scene: Scene, invocation: Invocation, redirect: Redirection) -> Iterator[Finding]:
    """Yield the findings for a raw connection, and for what is typed into one of this machine that a descriptor has."""
    target = str(redirect.target)
    if target.isdigit():
        target = scene.facts.real(f"/dev/fd/{target}") if target not in ("0", "1", "2") else ""
    if _LOOPBACK.match(target) and invocation.name not in SHELLS:
        yield from statements.typed(invocation) if ">" in redirect.operator else ()
    elif _CONNECTS.match(target):
        yield _RAW


def _empties(invocation: Invocation, redirect: Redirection) -> bool:
    """Whether the file is left with nothing in it: `> x`, `: > x`, `cat /dev/null > x`."""
    if redirect.operator != ">" or invocation.input.given:
        return False
    return invocation.name in ("", ":", "true") or (invocation.name == "cat" and invocation.args == ["/dev/null"])


_CONNECTS = re.compile(r"/dev/(?:tcp|udp)/")
_LOOPBACK = re.compile(r"/dev/(?:tcp|udp)/(?:localhost|127(?:\.[0-9]{1,3}){3}|::1)/")
"""A port of this machine: it is asked so whether it answers, and who listens there is judged when it is started."""
_RAW = Finding(
    "network.raw",
    0.8,
    "opens a raw connection from the shell, past every tool that could be looked at",
    "Use curl to a named service.",
    effect=effect("network", "opens a raw connection"),
)


def _endless(scene: Scene, invocation: Invocation) -> Finding | None:
    """Return the finding for a command that never ends by itself while the agent waits for it.

    It applies in a workspace only, since only there an agent waits.
    """
    if (
        not scene.places.workspace
        or scene.background
        or id(invocation) in scene.beside
        or invocation.via
        or invocation.depth
        or (invocation.name == "yes" and id(invocation) in scene.heard)
        or not _ENDLESS[invocation.name].search(" ".join(invocation.args))
    ):
        return None
    return Finding(
        "shell.endless",
        levels.CARE if invocation.name == "watch" else levels.HARM,  # what it shows in two minutes is what is wanted
        f"never ends by itself: `{invocation.text()}`",
        "Give it an end, or run it in the background.",
        effect=effect("process", "waits for ever", reversible=True),
        rewrite="time-limit",
    )


def _burns(scene: Scene, invocation: Invocation) -> Finding | None:
    """Return the finding for a command that is left in the background to take a processor for nothing.

    It is let be if the same script bounds its time, or ends what it has started.
    """
    many = not _AT_ONCE.isdisjoint(invocation.via)
    if not scene.places.workspace or "timeout" in invocation.via or not (many or id(invocation) in scene.beside):
        return None
    thrown = (
        any(to.writes and to.target == "/dev/null" for to in invocation.redirects) or "of=/dev/null" in invocation.args
    )
    fed = not ENDLESS.isdisjoint(word.removeprefix("if=") for word in invocation.args)
    bounded = any(word.startswith("count=") for word in invocation.args) or any(
        one.name in ("kill", "pkill", "killall") for one in scene.commands
    )
    if bounded or id(invocation) in scene.heard or not (fed or invocation.name == "yes") or not (thrown or fed):
        return None
    return Finding(
        "process.burns",
        levels.HARM,
        f"takes a processor for nothing, without an end: `{invocation.text()}`",
        "Bound it by timeout, and to a few processors.",
        effect=effect("process", "takes a processor for ever"),
    )


_BURNERS = frozenset({"yes", "cat", "dd", "pv", "gzip", "bzip2", "xz", "zstd", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "openssl"})  # fmt: skip
"""Programs that take a whole processor as long as they are fed."""
_AT_ONCE = frozenset({"xargs", "parallel"})


def _all_refs(invocation: Invocation) -> Finding | None:
    """Return the finding for a deletion of all branches that a list names, whatever is taken out of it."""
    args = invocation.args
    sources = dict.fromkeys((*invocation.input.source, *(one for word in args for one in word.source)))
    texts = [str(word) for one in sources for word in one.args]
    turned = any('":"' in text or "s/^/:" in text for text in texts)
    drops = (args[:1] == ["tag"] and has(invocation, "-d", "--delete")) or (
        (args[:1] == ["update-ref"] and has(invocation, "-d", "--stdin"))
        or (args[:1] == ["branch"] and has(invocation, "-D"))
        or (args[:1] == ["push"] and (turned or has(invocation, "-d", "--delete")))
    )
    lists = any(one.name == "git" and not _LISTS_REFS.isdisjoint(one.args[:1]) for one in sources)
    if not drops or not lists or any(map(_narrows, sources)):
        return None
    return Finding(
        "git.delete-all",
        levels.HARM,
        "deletes every branch of a list, with work in them that was merged nowhere",
        "List only merged ones: git branch --merged.",
        effect=effect("git_discard", "deletes all branches but some"),
    )


def _narrows(source: Invocation) -> bool:
    """Whether a command picks some of the branches of a list: merged ones, or those of a name."""
    text = " ".join(source.args)
    if source.name in ("grep", "egrep", "rg"):
        return not any(re.match(r"-[a-zA-Z]*v", word) for word in source.args)
    if source.name == "git":
        return re.search(r"merged|contains|gone|refs/heads/\w|refs/remotes/\w+/\w|--list\b|-l\b|\*", text) is not None
    return "gone" in text or (
        source.name in ("awk", "gawk", "sed", "perl")
        and re.search(r"/\^?\w+[/-]|~", text) is not None
        and "!=" not in text
    )


_LISTS_REFS = frozenset({"tag", "branch", "for-each-ref", "ls-remote"})
_ENDLESS = {
    "tail": re.compile(r"(?:^| )(?:-[a-zA-Z0-9]*[fF]\b|--follow|--retry)"),
    "journalctl": re.compile(r"(?:^| )(?:-[a-zA-Z]*f|--follow)"),
    "ping": re.compile(r"^(?!.*(?:-[a-zA-Z]*[cw]|--count|-V|-h\b))"),
    "watch": re.compile(r"."),
    "top": re.compile(r"^(?!.*-[a-zA-Z]*n)(?!.*-v)"),
    "yes": re.compile(r""),
}
"""Programs that go on until they are stopped, by the options that make them so. `yes` ends with its reader."""


def _known(scene: Scene, invocation: Invocation, *, described: bool) -> Iterator[Finding | None]:
    """Yield the findings of the knowledge.

    They are those of its rules, else of the program as a whole, else a guess from its words.
    """
    operands = scene.book.operands(invocation)
    if _asks(scene, invocation):
        return
    searched = scene.book.searched(invocation)
    scene.work.searched += searched
    if searched > MAX_SEARCHED or scene.work.sought:
        yield _LONG
        return
    own = id(invocation) in scene.own
    invocation, operands = without_comments(scene, invocation, operands)
    rules, reads = scene.book.meaning(invocation, operands)
    for rule in rules:
        found = _held(scene, invocation, _fitted(scene, invocation, rule))
        yield _eased(found) if own and takes_back(rule.effect) else found
    program = scene.book.programs.get(invocation.name)
    if program is not None:
        if not rules and not reads:
            yield _destroyed(program, invocation, operands) or _whole(scene, program, invocation, operands)
    elif not (rules or described or invocation.name in SHELLS or invocation.name in scene.launchers):
        for guess in verbs.check(invocation, operands):
            yield _eased(guess) if guess and (own or _tried(scene, invocation)) else guess
    described = described or program is not None or invocation.name in scene.launchers
    if deploys_to_production(invocation, operands, known=described) or (
        (script := as_program(invocation)) is not None and deploys_to_production(script, script.operands(), known=False)
    ):
        why = f"has {invocation.program} put something else in production"
        yield Finding("deploy.production", levels.HARM, why, _BY_A_PERSON, effect=effect("infrastructure", why))


def _eased(found: Finding) -> Finding:
    """Return a finding of harm as one that asks for care."""
    return replace(found, risk=min(found.risk, levels.CARE)) if found.risk < levels.DOOM else found


def _tried(scene: Scene, invocation: Invocation) -> bool:
    """Whether an unknown program is told to work on what is for tests or development, and on nothing else."""
    if not scene.places.workspace or any(map(verbs.OUTSIDE.match, invocation.args)):
        return False
    own = invocation.name.upper().replace("-", "_") + "_"
    aside = [value for name, value in invocation.assignments.items() if name.startswith(own) and value[:1] == "/"]
    kept = bool(aside) and all(scene.places.place(value) is Place.SCRATCH for value in aside)
    return kept or is_rehearsal(invocation)


def _destroyed(program: Program, invocation: Invocation, operands: list[Arg]) -> Finding | None:
    """Return the finding for a program of others' machines or stores that is told to destroy by a verb no rule has.

    What users say of a program of their own is all that counts for it.
    """
    if not program.effect or program.effect not in SHARED or verbs.is_dry(invocation):
        return None
    verb = verbs.destroying(invocation, operands)
    if not verb or program not in PROGRAMS:
        return None
    return Finding(
        f"{program.effect}.verb",
        levels.CARE if is_rehearsal(invocation) or _at_own_server(invocation) else levels.HARM,
        f"tells {invocation.program} to {verb} something that others may use",
        "Look first what would go, and let a person do it.",
        effect=effect(
            program.effect, f"{invocation.program} is told to {verb}", target=operands[0] if operands else ""
        ),
        elevated=invocation.elevated,
    )


def without_comments(scene: Scene, invocation: Invocation, operands: list[Arg]) -> tuple[Invocation, list[Arg]]:
    """Return a database's client with the comments of its statements taken out, and its operands."""
    program = scene.book.programs.get(invocation.name)
    if program is None or not program.fed or not any(_TEXTS.search(word, 2) for word in invocation.args):
        return invocation, operands
    words = [arg(_bare(word), known=word.known, source=word.source) for word in invocation.args]
    setting = Setting(invocation.cwd, invocation.via, invocation.elevated, invocation.inside, invocation.depth)
    plain = Invocation(invocation.program, words, setting, assignments=invocation.assignments, stdin=invocation.input)
    return plain, scene.book.operands(plain)


_TEXTS = re.compile(r"/\*|--|'")
"""Beginnings of comments and texts within SQL."""
_LITERAL = re.compile(r"'[^']{0,4000}'")
_READS_ROWS = re.compile(r"\s*(?:select|with|explain|show)\b", re.IGNORECASE)
_RUNS_TEXT = re.compile(r"\b(?:execute|exec|do|dblink|query_to_xml|xp_cmdshell|lo_import|pg_read|pg_ls|copy|load_file|into|outfile|writefile|load_extension)\b", re.IGNORECASE)  # fmt: skip
"""Words by which a text of a statement is run, or names a file."""


def _bare(text: str) -> str:
    """Return SQL without its comments, and if it only reads rows, without its texts: they are looked for, not run."""
    text = _uncommented(text) if "/*" in text or "--" in text[2:] else text
    reads = "'" in text and _READS_ROWS.match(text) and not _RUNS_TEXT.search(text)
    return _LITERAL.sub("''", text) if reads else text


_LINE_COMMENT = re.compile(r"(?<=\s)--\s[^\n]{0,2000}")


def _uncommented(text: str) -> str:
    """Return SQL without its comments."""
    pieces, at = [], 0
    while (start := text.find("/*", at)) >= 0 and (end := text.find("*/", start + 2)) >= 0:
        pieces.append(text[at:start])
        at = end + 2
    return _LINE_COMMENT.sub(" ", " ".join((*pieces, text[at:])))


_LONG = not_read_to_its_end(
    f"has more words than a review goes through: over {MAX_SEARCHED} characters", "Give them in a file.", "a command"
)


def _asks(scene: Scene, invocation: Invocation) -> bool:
    """Whether the program is only asked for its manual."""
    args, program = invocation.args, scene.book.programs.get(invocation.name)
    if invocation.name == "aws" and args[-1:] == ["help"]:
        return True
    return (
        ("--help" in args or (args[-1:] == ["-help"] and program is not None))
        and "--" not in args
        and (invocation.name not in scene.launchers or scene.launchers.started(invocation) is None)
    )


def _held(scene: Scene, invocation: Invocation, found: Finding) -> Finding:
    """Return the finding, without its undo if no checkpoint holds what the command changes."""
    if found.undo != "files":
        return found
    ignored_too = invocation.name == "git" and invocation.args[:1] == ["clean"] and has(invocation, "-x", "-X")
    if not ignored_too and all(scene.places.captured(folder) for folder in _folders(scene, invocation)):
        return found
    if all(scene.places.place(folder) is Place.SCRATCH for folder in _folders(scene, invocation)):
        return replace(found, risk=min(found.risk, levels.MINOR))  # a repository for a trial
    made = found.effect and replace(found.effect, reversible=False)
    return replace(found, undo="", effect=made)


def _folders(scene: Scene, invocation: Invocation) -> Iterator[str]:
    """Yield the directories in which the command works; one that is not known is none of the workspace."""
    folder = invocation.cwd or scene.places.cwd
    folder = f"/{folder}" if folder[:1] == "?" else folder
    if invocation.name == "git":
        words = iter(invocation.args)
        for word in words:
            name, equals, value = word.partition("=")
            if name in ("-C", "--git-dir", "--work-tree"):
                named = arg(value, known=word.known) if equals else next(words, arg("."))
                place = scene.places.absolute(named, folder) if named.known else "/?"
                folder = place if name == "-C" else folder
                yield _beside(place)
            elif word[:1] != "-":
                break
            elif word == "-c":
                next(words, None)
        for variable in ("GIT_DIR", "GIT_WORK_TREE"):
            if variable in invocation.assignments:
                yield _beside(scene.places.absolute(invocation.assignments[variable], folder))
    yield folder


def _beside(path: str) -> str:
    """The working tree of a repository that is named by its `.git`."""
    return path.removesuffix("/.git")


def _fitted(scene: Scene, invocation: Invocation, rule: Rule) -> Finding:
    """Return a rule's finding, adapted to the targets here.

    Examples are a device that cannot be one, and the agent's own server or files.
    """
    found = rule.finding(invocation)
    if rule.effect == "device":
        devices = [word for word in invocation.args if "/dev/" in word]
        nothing = bool(devices) and all(_NO_DEVICE.search(word) for word in devices)
        return replace(found, risk=levels.CARE) if nothing else found
    if not scene.places.workspace:
        return _eased(found) if rule.name in _UNASKED else found
    if rule.name == "windows.delete" and _within(invocation):
        return replace(found, risk=levels.CARE)
    if rule.name == "database.lose" and _TAKEN_BACK.search(" ".join(invocation.args)[:MAX_SEARCHED]):
        return replace(found, risk=levels.CARE)
    if rule.name in SCOPED and (is_rehearsal(invocation) or _of_folder(scene, invocation)):
        return _eased(found)
    if (
        (rule.name in ("containers.all", "containers.remove-force", "containers.prune") and _filtered(invocation))
        or (rule.name in _PACKAGES_OF_ONE and invocation.inside.startswith("container"))
        or (rule.name == "containers.all" and _unnamed_images(invocation))
        or (rule.name == "git.worktree-remove-force" and _to_scratch(scene, invocation))
        or (rule.name == "git.push-force" and _to_scratch(scene, invocation))
        or (rule.name == "abuse.listens" and _shows_own(scene, invocation))
        or (rule.name == "abuse.editor" and _quiet_lua(invocation))
    ):
        return _eased(found)
    if found.risk < levels.DOOM and (
        (rule.name.startswith(("cloud.", "secrets.destroy")) and _at_own_server(invocation))
        or (rule.effect == "publish" and _to_own_registry(invocation))
        or (rule.effect in _REHEARSED and not _DRY_RUN.isdisjoint(invocation.args))
        or (rule.name == "hosting.destroy" and "--local" in invocation.args)
    ):
        return replace(found, risk=min(found.risk, levels.CARE))
    if invocation.inside:
        return found
    if rule.name in _OF_NAMED_FILES and (places := _named_places(scene, invocation)):
        if places == {Place.SCRATCH}:
            return replace(found, risk=levels.CARE)
        if rule.name != "backup.destroy" and places <= {Place.SCRATCH, Place.WORKSPACE}:
            return replace(found, undo="files")
    if rule.name == "web.delete":
        hosts = [word for word in invocation.args if _HOST.match(word)]
        own = all(map(_OWN_SERVER.match, hosts)) or all(map(_TRIED_HERE.match, hosts))
        return replace(found, risk=levels.CARE) if hosts and own else found
    if rule.name == "rsync.delete" and "--remove-source-files" not in invocation.args:
        if re.match(r"[\w.@-]+:(?!\\)|rsync://", invocation.args[-1]):
            return found  # another machine's files
        place = scene.places.place(scene.path(invocation.args[-1], invocation))
        if place is Place.SCRATCH:
            return replace(found, risk=levels.CARE)
        return replace(found, undo="files") if place is Place.WORKSPACE else found
    if rule.name == "git.clean" and _made_again(scene, invocation):
        return replace(found, risk=levels.CARE)
    if (
        rule.name == "containers.remove-force"
        and invocation.args[:1] == ["rm"]
        and not _MORE.intersection(invocation.args)
    ):
        return replace(found, risk=levels.CARE) if all(word.known for word in invocation.args) else found
    return found


_UNASKED = frozenset({"power.sleep", "abuse.attack", "message.by-desktop"})
"""Rules of which the harm is that an agent does it at its work, unasked; what a person does so by hand is meant."""


def _of_folder(scene: Scene, invocation: Invocation) -> bool:
    """Whether machines are meant that a file of the workspace describes: they are made again from it."""
    named = any(_NUMBER.match(word) for word in invocation.args)
    here = invocation.cwd or scene.places.cwd
    return invocation.name == "vagrant" and not named and scene.places.place(here) is Place.WORKSPACE


_NUMBER = re.compile(r"[0-9a-f]{7,32}\Z")


def _filtered(invocation: Invocation) -> bool:
    """Whether containers are picked by a name or a label, in a list of them too, or are those of one project."""
    if "prune" in invocation.args[:2]:
        return any(map(_PICKS.match, invocation.args))
    if all(_STARTED.match(word) for word in invocation.args if not word.known) and not all(
        word.known for word in invocation.args
    ):
        return True
    lists = [source for word in invocation.args for source in word.source]
    return bool(lists) and all(
        source.args[:2] == ["compose", "ps"]
        or source.args[:1] in (["run"], ["create"])
        or (source.args[:1] in (["ps"], ["container"]) and any(map(_PICKS.match, source.args)))
        for source in lists
    )


_PACKAGES_OF_ONE = frozenset({"packages.install-local", "packages.remove-vital"})
"""Rules about packages of a whole system, which within a container is thrown away with it."""


def _unnamed_images(invocation: Invocation) -> bool:
    """Whether images are removed that no name leads to any more: what a build has left behind."""
    lists = [source for word in invocation.args for source in word.source]
    return (
        bool(lists)
        and (invocation.args[:1] == ["rmi"] or invocation.args[:2] == ["image", "rm"])
        and all(any(map(_DANGLING.match, source.args)) for source in lists if source.name == invocation.name)
        and any(source.name == invocation.name for source in lists)
    )


_DANGLING = re.compile(r"(?:--filter=|-f=?)?[\"']?dangling=(?:true|1)")


def _to_scratch(scene: Scene, invocation: Invocation) -> bool:
    """Whether a push goes to a repository in scratch space, which a test has made, or a worktree lies there."""
    named = [word for word in invocation.args if word[:1] == "/"]
    return bool(named) and all(
        word.known and scene.places.place(scene.path(word, invocation)) is Place.SCRATCH for word in named
    )


def _shows_own(scene: Scene, invocation: Invocation) -> bool:
    """Whether a server of files is started that shows the workspace alone: Ruby's, or that of busybox."""
    words = invocation.args
    if not (invocation.name == "ruby" and "httpd" in words and "-run" in words) and words[:1] != ["httpd"]:
        return False
    paths = [word for word in words if "/" in word or word[:1] in (".", "~")]
    return (
        "0.0.0.0" not in " ".join(words)  # noqa: S104 — looked for, not bound
        and all(word.known for word in words)
        and all(scene.places.place(scene.path(word, invocation)) is Place.WORKSPACE for word in paths)
        and scene.places.place(invocation.cwd or scene.places.cwd) is Place.WORKSPACE
    )


def _quiet_lua(invocation: Invocation) -> bool:
    """Whether Neovim is given Lua that prints or sets something, and no other code."""
    given = [word for word in invocation.args if word[:1] != "-" or "lua" in word]
    lua = [word for word in given if _LUA.match(word)]
    others = " ".join(word for word in given if not _LUA.match(word))
    return bool(lua) and not _EDITOR_RUNS.search(others) and not any(map(_LUA_DOES.search, lua))


_LUA = re.compile(r"\+?:?\s{0,5}lua\b")
_LUA_DOES = re.compile(
    r"\b(?:os|io|fn|cmd|uv|loop|system|execute|popen|load\w*|dofile|spawn|jobstart|termopen|api|delete|write\w*|_G|debug|ffi|string|rm|unlink)\b|\.\.|\[|\\\\"
)
"""Parts of Lua that reach files and programs, or hide names."""
_EDITOR_RUNS = re.compile(
    r"!|\b(?:py\w*|ruby|perl|tcl|shell|call|term\w*|redir|source|so|silent|execute|exe|luafile|w|wq|write|r)\b"
)


_STARTED = re.compile(r"\$\((?:docker|podman|nerdctl) (?:container )?(?:run|create) [^()`]{1,2000}\)\Z")
"""The number of a container that the script itself has started."""
_PICKS = re.compile(r"(?:--filter=|-f=?)?(?:name|label|ancestor|network|volume)=\S")
"""A filter of `docker ps` that picks containers by what they are called or made of."""


_OF_NAMED_FILES = frozenset({"disk.shred", "tar.remove-files", "backup.destroy"})
"""Rules of which all the harm is to files or folders that are named."""


def _named_places(scene: Scene, invocation: Invocation) -> set[Place]:
    """The places of all that a command names; none if one of them is not known, or a checkpoint does not hold it."""
    options = [word for word in invocation.args if word[:1] == "-"]
    named = [word for word in invocation.args if word[:1] != "-"]
    if invocation.name == "rclone" and named[:1] in (["sync"], ["move"], ["moveto"]):
        named = named[-1:] if named[0] == "sync" else named[1:]
    if invocation.name in ("borg", "restic"):
        named = [word for word in named if "/" in word or ":" in word]
    if any(re.search(r"[=~]|/|\A-[A-Za-z]*C.", word) for word in options) or not all(word.known for word in named):
        return set()
    if any(":" in word for word in named):
        return set()
    paths = [scene.path(word, invocation) for word in named]
    places = {scene.places.place(path) for path in paths}
    held = all(scene.places.captured(path) for path in paths if scene.places.place(path) is Place.WORKSPACE)
    return places if held else set()


_TAKEN_BACK = re.compile(
    r"\A(?>.*\bbegin\b)(?!.*\bcommit\b).*\brollback\s*+;?\s*+['\"]?\s*+\Z", re.IGNORECASE | re.DOTALL
)
"""Statements that end by taking back all of them."""
_ELSEWHERE = re.compile(r"[A-Za-z]:[\\/]|[~$%]|\.\.|(?:^|[\s,'\"(])[\\/](?![a-zA-Z](?:\s|\Z))")
"""Marks of a path of Windows, or one that is given to PowerShell, that leads out of the folder, or is not known."""
_NAMED_THERE = re.compile(r"[\s,'\"(]{0,3}(?:\.[\\/])?\w[\w.*\\/, -]{0,300}['\")]{0,3}\Z")


def _within(invocation: Invocation) -> bool:
    """Whether all that PowerShell or cmd is told to delete is named, below the folder in which it runs."""
    words = [word for word in invocation.args if word[:1] != "-" and not re.fullmatch(r"/[a-zA-Z]", word)]
    piped = [word for source in invocation.input.source for word in source.args if word[:1] != "-"]
    named = words or piped
    return bool(named) and all(_NAMED_THERE.match(word) and not _ELSEWHERE.search(word) for word in named)


def _made_again(scene: Scene, invocation: Invocation) -> bool:
    """Whether `git clean` is told to look only where a build puts what it makes."""
    named = [word for word in invocation.operands(("-e", "--exclude"))[1:] if word not in ("-e", ".env")]
    return bool(named) and all(
        word.known and word.rstrip("/").rpartition("/")[2] in REGENERATED and scene.places.captured(scene.path(word, invocation))
        for word in named
    )  # fmt: skip


_MORE = frozenset({"-v", "--volumes", "-a", "--all", "-fv", "-vf", "-af", "-fa"})
"""Options by which `docker rm` takes more than the containers named."""


_PRODUCED = SHARED - {"forge", "backup"}
"""Effects of which a change is one of production: in a forge the word is a branch's, in backups a source's."""
_NO_DEVICE = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|loop|disk)(?:X|XY|Xn|XnY|XpY|nX|nXpY|XXX?)\Z")
"""How manuals name a disk that is to be put in; no kernel names one so."""
_HOST = re.compile(r"https?://|localhost\b|:\d+(?:/|\Z)|[\w.-]++:\d++/|[\w-]++(?:\.[\w-]++)++/")
_ENDPOINTS = frozenset({"--endpoint-url", "--endpoint", "--api-endpoint"})
_ENDPOINT_OF = re.compile(r"AWS_ENDPOINT_URL(?:_[A-Z0-9_]{1,40})?|VAULT_ADDR")
"""Variables that name the server of a cloud or a store of secrets."""
_HERE = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:/|\Z)")
_REHEARSED = SHARED | {"publish", "git_discard", "secrets"}
"""Effects of programs that know a dry run."""
_DRY_RUN = frozenset({"--dry-run", "--dryrun", "--dry-run=client", "--dry-run=server", "--dry-run=true"})


def _to_own_registry(invocation: Invocation) -> bool:
    """Whether a package is published to a server or a folder of this machine, and nothing else is named."""
    words = [*invocation.args, arg("")]
    said = [word.partition("=")[2] if word[:1] == "-" else word for word in words if "://" in word]
    for word, after in pairwise(words):
        option, equals, value = word.partition("=")
        if _REGISTRY.fullmatch(option):
            said.append(value if equals else after)
    return bool(said) and all(map(_OF_THIS_MACHINE.search, said))


_REGISTRY = re.compile(
    r"--?(?:source|s|index|registry|host|(?:repository|publish|index|repo)-url|skip-duplicate-source)", re.IGNORECASE
)
"""Options that name where a package goes."""
_OF_THIS_MACHINE = re.compile(
    r"(?:\A|::|=)(?:(?:file:|\.{0,2}/|~/)|(?:https?|oci|tcp)://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:/|\Z))"
)


def _at_own_server(invocation: Invocation) -> bool:
    """Whether a cloud's program is told to ask a server of this machine, which stands in for the cloud in tests."""
    if invocation.name == "awslocal":
        return True
    words = [*invocation.args, arg("")]
    said = [
        word.partition("=")[2] or words[at + 1] for at, word in enumerate(words) if word.partition("=")[0] in _ENDPOINTS
    ]
    if not said:
        said = [arg(value) for name, value in invocation.assignments.items() if _ENDPOINT_OF.fullmatch(name)]
    if "UseDevelopmentStorage=true" in words:
        return True
    return bool(said) and all(
        re.match(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?/?\Z", one) for one in said
    )


_OWN_SERVER = re.compile(
    r"(?:(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])|(?=:))(?::(?!(?:9200|9201|7700|8108|8983|6333|5984|8001|8086|8500|2379|9090|9093|15672)\b)(?:\d+|\$\([^()]{1,80}\)|\$\{?\w{1,40}\}?))?(?:/|\Z)"
)
"""A server of this machine that an agent would write; the ports named are those of stores and brokers."""


_TRIED_HERE = re.compile(
    r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?/(?:[\w-]{0,80}[_-])?(?:tests?|testing|tmp|scratch|e2e|it|integration|ci)(?:[_-][\w*-]{0,80})?(?:/|\Z)"
)
"""An address within a store of this machine, under a name that says it is for tests."""


_CHANGES_ROWS = re.compile(
    r"(?:\A|;|['\"])\s{0,9}(?:update|delete|insert|merge|replace|alter|grant|revoke|create|truncate)\s", re.IGNORECASE
)


def _changes_rows(invocation: Invocation) -> bool:
    """Whether a database's client is given a statement that changes what it holds, or statements that are not known."""
    fed = invocation.input.given and invocation.input.text is None and invocation.name in _FED
    if fed and _STATED.isdisjoint(invocation.args):
        return True
    texts = (*invocation.args, invocation.input.text or "")
    return any(_CHANGES_ROWS.search(text[:MAX_SEARCHED]) for text in texts)


_FED = frozenset({"psql", "mysql", "mariadb", "sqlcmd", "sqlplus", "clickhouse-client", "cqlsh", "mongosh", "mongo"})
"""Clients that run what they are fed."""
_STATED = frozenset({"-c", "-e", "-f", "-l", "--command", "--execute", "--eval", "--file", "--list", "--version", "--help"})  # fmt: skip
"""Options by which they run something else."""


def _whole(scene: Scene, program: Program, invocation: Invocation, operands: list[Arg]) -> Finding | None:
    if not program.effect:
        return None
    if program.effect in _PRODUCED and (
        changes_production(invocation, operands, scene.production)
        or (
            program.effect == "database"
            and _changes_rows(invocation)
            and names_production(invocation, scene.production)
        )
    ):
        why = f"has {invocation.program} change what is in production"
        made = effect(program.effect, f"{program.details}: {invocation.text()}", severity=Severity.HIGH)
        return Finding(f"{program.effect}.production", levels.HARM, why, _BY_A_PERSON, effect=made)
    made = effect(
        program.effect,
        f"{program.details}: {invocation.text()}",
        target=operands[0] if operands else "",
        reversible=program.risk <= 0.1,
    )
    return Finding(
        f"program.{program.effect}", program.risk, program.details, effect=made, elevated=invocation.elevated
    )
