"""Perl, Ruby, JavaScript, PHP, Lua, R, Julia, Tcl, PowerShell and others: by the calls in their text.

There is no syntax tree: texts in quotes, and the names before them. That sees plainly written code; a text that is
assembled at run time is noticed by the call that would run it.
"""

import re
from itertools import islice

from monitors.contract.expressions import later
from monitors.review.languages.folding import folded, placed, plainly
from monitors.review.languages.uses import Uses
from monitors.review.shell.secret_names import names_secret

_QUOTED = r"(?:\"((?:[^\"\\]|\\.){0,2000})\"|'((?:[^'\\]|\\.){0,2000})'|`([^`]{0,2000})`)"
_RUN_CALL = (
    r"\b(?:system|exec|execSync|execFile|execFileSync|spawn|spawnSync|popen|popen3|capture2e?|capture3|passthru|shell_exec|proc_open|pcntl_exec|run-shell-command|run-program|shell|callCommand|execShellCmd|execCmd|execCmdEx|staticExec|gorge|executeShell|spawnShell|wait_with_output|ProcessBuilder|Process|commandLine|createProcess|readProcess|"
    r"qx|%x|exec\.Command|Command::new|io\.popen|os\.execute|Deno\.Command|Deno\.run|Bun\.spawn|Process\.spawn|Open3\.\w+|IO\.popen|invoke-expression|iex|start-process|command|os:cmd|System\.cmd|sys\.process|do shell script|exec!|call_process|sh|run|start)\b"
    r"\s*(?:\(\s*|\s|\{\s*|\[\s*)\[?\s*"
)
_RUN = later(_RUN_CALL + _QUOTED)
_RUN_LONG = later(rf"(?:{_RUN_CALL})(?:\"(?:[^\"\\]|\\.){{2001}}|'(?:[^'\\]|\\.){{2001}}|`[^`]{{2001}})")
"""A call that runs a text which is longer than is read."""
_RUNS_SOMEHOW = later(
    r"\b(?:system|exec|execSync|execFile|spawn|spawnSync|popen|passthru|shell_exec|proc_open|child_process|io\.popen|os\.execute|Process\.spawn|IO\.popen|invoke-expression|Runtime\.getRuntime|ProcessBuilder|callCommand)\b",
    re.IGNORECASE,
)
_SCALA_RUN = later(_QUOTED + r"\s{0,3}\)?\s{0,3}\.\s{0,3}(?:!{1,2}|lazyLines|lineStream)(?![\w=])")
"""A text that is run as a command by what is called on it."""
_PROGRAM_AND_LINE = later(
    r"\bProcess(?:StartInfo|\.Start)\s?\(\s?\"([^\"\n]{1,300})\"\s?,\s?@?\"((?:[^\"\\\n]|\\.){0,2000})\""
)
"""A program with its arguments in one text."""
_BACKTICK = later(r"`([^`]{1,2000})`|%x[\[{(]([^\]})]{1,2000})|qx[\[{(/]([^\]})/]{1,2000})")
_DELETE = later(
    r"\b(?:rm_rf|rm_r|rmtree|remove_tree|remove_entry|remove_dir|rmSync|rmdirSync|rmdir|unlink|unlinkSync|rm|remove|delete|Remove-Item|removeSync|os\.remove|file_delete|deleteRecursively|RemoveAll|remove_dir_all|remove_file|delete-directory|delete-file|rimraf|emptyDirSync|file delete(?: -force)?|rimrafSync|FileUtils\.\w*rm\w*)\b"
    r"!?\s*(?:\(\s*|\s+(?:-\w{1,20}\s+){0,4})\[?\s*" + _QUOTED, re.IGNORECASE,
)  # fmt: skip
_DELETES_SOMEHOW = later(
    r"\b(?:rm_rf|rm_r|rmtree|remove_tree|rmSync|rmdirSync|unlink|unlinkSync|remove_entry|removeSync|(?:File|FileUtils|Dir)\.(?:delete|unlink|rm\w*))\b"
)
_HOME_WITHIN = later(
    r"#\{(?:ENV\[[\"']HOME[\"']\]|Dir\.home)\}|\$\{(?:process\.env\.HOME|(?:os\.)?homedir\(\))\}|\$ENV\{HOME\}(?=[/\"'])"
)
"""The home directory within a text."""
_HOME = later(
    r"(?:Dir\.home\b(?:\(\))?|(?:Deno|Bun|process)\.env\.get\([\"']HOME[\"']\)|(?<![\w.$])homedir\(\)|System\.user_home!?(?:\(\))?|os\.Getenv\([\"']HOME[\"']\)|(?:std::)?env::var\([\"']HOME[\"']\)(?:\.unwrap\(\))?|(?:dirs::)?home_dir\(\)(?:\.unwrap\(\))?|System\.get_env\([\"']HOME[\"']\)|System\.getProperty\([\"']user\.home[\"']\)|System\.getenv\([\"']HOME[\"']\)|(?:require\([\"'](?:node:)?os[\"']\)|\bos)\.homedir\(\)|process\.env\.HOME\b|\$?ENV[\[{][\"']?HOME[\"']?[\]}]|\bgetenv\([\"']HOME[\"']\)|\bENVIRON\[[\"']HOME[\"']\]|\$_(?:SERVER|ENV)\[[\"']HOME[\"']\])(?:\s*[+.]\s*([\"']))?"
)
"""The home directory, with the quote of a text that is joined to it."""
_HOME_NAMED = later(r"\b(\w{1,40}),\s{0,9}\w{1,40}\s{0,9}:?=\s{0,9}os\.UserHomeDir\(\)")
"""The home directory with its error, as Go gives it."""
_SPAWNS = later(r"(?:^|[;\n{])\s*spawn\s+(?:-\w+\s+)*([^;\n}\"'(]{1,500})")
"""Commands that expect starts."""
_RECURSIVE = later(
    r"RemoveAll|remove_dir_all|delete-directory|rm_rf|rm_r\b|rmtree|remove_tree|recursive|-Recurse|rimraf|remove_dir|-force|emptyDir|deleteRecursively",
    re.IGNORECASE,
)
_WRITE = later(r"\b(?:writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|file_put_contents|File\.write|IO\.write|Out-File|Set-Content|Add-Content|spurt|FileWriter|copyFileSync|renameSync|symlinkSync|mkdirSync|FileOutputStream|write_file|fopen|File\.open|File\.new|open|copy)\b\s*(?:\(\s*|\s+)(?:[^'\"`()]*,\s*[\"']>>?[\"']\s*,\s*)?" + _QUOTED + r"(?:\s*,\s*[\"']([^\"']*)[\"'])?", re.IGNORECASE)  # fmt: skip
_READ_MODES = frozenset({"r", "rb", "rt", "", "utf8", "utf-8", "<"})
_MAYBE_READS = later(r"(?:fopen|File\.open|File\.new|open|copy)\b", re.IGNORECASE)
_PATH = later(r"(?<![\w.])(~?/[A-Za-z0-9_.~*][^\s\"'`<>|;,()\[\]{}]*)")
_CONNECTS = later(r"fsockopen|stream_socket_client|TCPSocket|IO::Socket|net\.connect|require\([\"'](?:net|https?|tls|dgram)[\"']\)|socket\.connect|:connect\(|fetch\(|Net::HTTP|LWP::|curl_exec|Sockets\.connect|download\(|WebClient|Invoke-WebRequest|Invoke-RestMethod|DownloadString|/inet/(?:tcp|udp)/|open-uri|HttpClient|URL\(|getstore|s\.tcp\(|socket\s+-?\w*", re.IGNORECASE)  # fmt: skip
_LISTENS = later(
    r"createServer|\.listen\(|TCPServer|UNIXServer|\bbind\(|Listen\s*=>|httpd|webrick|stream_socket_server|socket_listen|HttpListener",
    re.IGNORECASE,
)
_SENDS = later(
    r"\bPOST\b|\.post\(|\.pipe\(\s*require|request\(|\.put\(|upload|UploadString|-Method\s+Post", re.IGNORECASE
)
_OF_ENVIRONMENT = r"(?:process\.env\.|process\.env\[[\"']|Deno\.env\.get\([\"']|Bun\.env\.|ENV\[[\"']|ENV\.fetch\([\"']|\$ENV\{[\"']?|getenv\([\"']|\$_(?:ENV|SERVER)\[[\"']|\$env:)(\w{1,80})"
_VARIABLE_SENT = later(
    rf"[\"'`]https?://(?!localhost|127\.0\.0\.1)[^\s\n]{{0,300}}?[\"'`]?\s{{0,3}}[+.,]?\s{{0,3}}(?:\$\{{|#\{{|\$\()?{_OF_ENVIRONMENT}"
    rf"|\b(?:body|data|form|payload|params)\b[\"']?\s{{0,3}}(?:[:=]|=>)[^\n]{{0,200}}?{_OF_ENVIRONMENT}"
)
"""A variable of the environment in an address, or in what is named as a body."""
_HIDDEN = later(r"(?:eval|exec|iex|Function|instance_eval|load|assert|vm\.runIn\w+)\s*[\s(]\s*(?:Buffer\.from|atob|base64_decode|unpack|decode_base64|Base64|get\b|gzinflate|\(?New-Object|pack\(|fetch|file_get_contents|open\(|URI|require\(['\"]https?['\"])|-e(?:nc|ncodedcommand)\b|FromBase64String", re.IGNORECASE)  # fmt: skip


_DECODED_RUN = later(
    r"\b(?:exec|execSync|spawn|spawnSync|system|popen|passthru|shell_exec|execFileSync)\s?\(\s?(?:Buffer\.from|atob|base64_decode|Base64\.\w{1,20}|decode_base64|unpack|gzinflate)"
)
"""A command that is decoded as it is run."""
_TCL_DELETE = later(r"\bfile\s+(?:delete|rename)((?:\s+-\w{1,10})*)\s+([~/$][^\s;\]\"]{0,300})")
"""Paths that Tcl needs no quotes for."""

_ARRAY = later(
    r"\(\s?new\s{1,3}String\s?\[\s?\]\s?\{|\(\s?(?:List|Seq|Array|Arrays\.asList|listOf|arrayOf)(?:\.of)?\s?\("
)
"""The beginning of a list of words behind a call, in Java, Kotlin and Scala."""
_BLANKS = later(r"\s{3,}")
"""Blanks in a row: each of them would be tried as the beginning of what several patterns seek behind a call."""


def uses_of(code: str) -> Uses:
    """Return the effects of the code."""
    found = Uses()
    code = _BLANKS.sub(lambda run: "\n" if "\n" in run[0] else "  ", code)
    if "home" in code or "HOME" in code:
        code = _HOME_WITHIN.sub("~", code)
        code = _HOME_NAMED.sub(r'\1 := "~"', code)
        code = _HOME.sub(lambda match: f"{match[1]}~" if match[1] else '"~"', code)
    code = _put_together(plainly(_ARRAY.sub("(", code)))
    if _KILLS_PARENT.search(code):
        found.scripts.append("kill -9 $PPID")
    for match in _RUN.finditer(code):
        found.scripts.append(_command(match, code))
    if _RUN_LONG.search(code):
        found.cut = "a script of more than 2000 characters in code"
    found.scripts.extend(_literal(match) for match in _SCALA_RUN.finditer(code))
    found.scripts.extend(f"{match[1]} {match[2]}" for match in _PROGRAM_AND_LINE.finditer(code))
    for match in _BACKTICK.finditer(code):
        found.scripts.append(next(group for group in match.groups() if group))
    found.scripts.extend(match[1] for match in _SPAWNS.finditer(code))
    found.runs = bool(found.scripts) or _RUNS_SOMEHOW.search(code) is not None
    recursive = "/" if _RECURSIVE.search(code) else ""
    for match in _DELETE.finditer(code):
        found.deletes.append(_literal(match) + recursive)
    for match in _WRITE.finditer(code):
        _written(match, found)
    found.deletes.extend(f"{match[2]}/" for match in _TCL_DELETE.finditer(code))
    found.reads = [match[1] for match in _PATH.finditer(code)][:200]
    if not found.deletes and _DELETES_SOMEHOW.search(code):
        found.deletes = [path + recursive for path in found.reads]
    found.connects = _CONNECTS.search(code) is not None
    found.listens = _LISTENS.search(code) is not None
    found.sends = found.connects and _SENDS.search(code) is not None
    if found.connects:
        sent = (next(filter(None, match.groups())) for match in _VARIABLE_SENT.finditer(code))
        found.secret = next(filter(names_secret, sent), "")
    fetched = found.connects and _RUNS_ANSWER.search(code)
    found.hidden = (
        "decodes or fetches code, and runs it" if fetched or _HIDDEN.search(code) or _DECODED_RUN.search(code) else ""
    )
    return found


_KILLS_PARENT = later(
    r"process\.kill\(\s*process\.ppid|Process\.kill\([^()\n]{1,40},\s*Process\.ppid|\bkill\b[^;\n]{1,40}\bgetppid\b|posix_kill\(\s*posix_getppid"
)
_RUNS_ANSWER = later(
    r"\.then\(\s*(?:eval|Function|new Function)\b|\beval\(\s*(?:await\b|\w{1,30}\.(?:data|body|text)\b)"
    r"|\b(?:eval|instance_eval|class_eval|Function|vm\.runIn\w{1,20})\s?\(?\s?[$A-Za-z_][\w$]{0,40}(?:\s?[);,]|\Z)"
)
"""Code that runs what another machine answers."""


_MORE = later(r"\s*,\s*\[?\s*" + _QUOTED)
_CHAINED = later(r"\s*\]?\s*\)\s{0,20}\.\s{0,20}args?\(\s*&?\[?\s*" + _QUOTED)
"""Words that are added by a call on the command, as in Rust."""
_ENDS = later(r"\s*(?:[),;\]}\n]|or\b|\|\||&&|\Z|if\b|unless\b|:)")
MAX_WORDS = 30
"""Most words taken of a command that is given as a list."""


def _command(match: re.Match[str], code: str) -> str:
    """Return the command that a call runs: one text, or a list of words.

    `$UNKNOWN` stands for parts joined at run time.
    """
    first, at = _literal(match), match.end()
    words: list[str] = []
    while len(words) < MAX_WORDS and (more := _MORE.match(code, at) or _CHAINED.match(code, at)) is not None:
        words.append(_literal(more))
        at = more.end()
    if not words and not _ENDS.match(code, at):
        return f"{first} $UNKNOWN"
    return " ".join([first, *("'" + word.replace("'", "'\\''") + "'" for word in words)])


_SETS = later(r"\s*:?=(?!=)")
_JOINED = later(r"\"\s*(?:\.\.?|\+|<>)\s*\"|'\s*(?:\.\.?|\+|<>)\s*'")
_NAMED = later(
    r"(?<![\w$])(?:(?:my|our|let|var|const|local)\s+)?(\$?[A-Za-z_]\w{0,40})\s*:?=\s*(\"[^\"\n]{1,500}\"|'[^'\n]{1,500}')"
)
MAX_NAMES = 50
"""Most variables whose text is inserted at their uses."""


def _put_together(code: str) -> str:
    """Return the code with pieces of text joined, and variables in calls replaced by the text that they hold."""
    code = folded(_JOINED.sub("", code))
    named = dict(islice(((match[1], match[2]) for match in _NAMED.finditer(code)), MAX_NAMES))
    if not named:
        return code
    used = re.compile(r"(?<=[(\s])(" + "|".join(map(re.escape, named)) + r")(?=\s*[),;+.]|\s*$|\s\S)", re.MULTILINE)
    code = used.sub(lambda match: match[0] if _SETS.match(code, match.end()) else named[match[1]], code)
    return folded(placed(code, {name: value[1:-1] for name, value in named.items()}))


def _written(match: re.Match[str], found: Uses) -> None:
    mode = (match[4] or "").lower()
    if _MAYBE_READS.match(match[0]) and (mode in _READ_MODES and ">" not in match[0]):
        return
    path = _literal(match).lstrip("> ")
    found.writes.append(path)
    if _WRITES_TEXT.match(match[0]):
        found.files[path] = match[4]


_WRITES_TEXT = later(r"writeFile(?:Sync)?|file_put_contents|(?:File|IO)\.write")
"""Calls whose second operand is the text of the file."""


def _literal(match: re.Match[str]) -> str:
    text = match[1] or match[2] or match[3] or ""
    return text.replace('\\"', '"').replace("\\'", "'")
