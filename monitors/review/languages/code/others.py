"""Perl, Ruby, JavaScript, PHP, Lua, R, Julia, Tcl, PowerShell and others: by the calls in their text.

There is no syntax tree: texts in quotes, and the names before them. That sees plainly written code; a text that is
assembled at run time is noticed by the call that would run it.
"""

import re
import shlex
from collections.abc import Iterator
from itertools import islice

from monitors.contract.expressions import later, sought, up_to_next
from monitors.review.languages.code.folding import folded, placed, plainly
from monitors.review.languages.code.literals import commands_in, without_comments
from monitors.review.languages.code.loops import written_out
from monitors.review.languages.code.uses import MAX_SCRIPTS, Uses
from monitors.review.shell.secret_names import names_secret

_QUOTED = r"(?:\"((?:[^\"\\]|\\.){0,2000})\"|'((?:[^'\\]|\\.){0,2000})'|`([^`]{0,2000})`)"
_BEGINS = r"(?<!\\)" + _QUOTED
"""A text that begins behind no backslash: else each of many quotes behind one begins a text of 2,000 characters."""
_RUN_CALL = (
    r"\b(?:system|exec|execSync|execFile|execFileSync|spawn|spawnSync|popen|popen3|capture2e?|capture3|passthru|shell_exec|proc_open|pcntl_exec|run-shell-command|run-program|shell|callCommand|execShellCmd|execCmd|execCmdEx|staticExec|gorge|executeShell|spawnShell|wait_with_output|ProcessBuilder|Process|commandLine|createProcess|readProcess|"
    r"qx|%x|exec\.Command|Command::new|io\.popen|os\.execute|Deno\.Command|Deno\.run|Bun\.spawn|Process\.spawn|Open3\.\w+|IO\.popen|invoke-expression|iex|start-process|command|os:cmd|System\.cmd|sys\.process|do shell script|exec!|call_process|sh|run|start)\b"
    r"(?:\s*+[({\[]|\s)\s*+(?:\[\s*+)?+"
)
_RUN = sought(
    _RUN_CALL + _QUOTED,
    "system exec Exec spawn popen passthru proc_open shell run call gorge Process ommand capture qx %x cmd Cmd start iex sh wait_with Open3 invoke-expr sys.proc",
)
MAX_RUN = 2_000
"""Most characters of one text that a call runs which are read."""
_RUN_LONG = later(rf"(?:{_RUN_CALL})(?:\"(?:[^\"\\]|\\.){{2001}}|'(?:[^'\\]|\\.){{2001}}|`[^`]{{2001}})")
"""A call that runs a text which is longer than is read."""
_RUNS_SOMEHOW = sought(
    r"\b(?:system|exec|execSync|execFile|spawn|spawnSync|popen|passthru|shell_exec|proc_open|child_process|io\.popen|os\.execute|Process\.spawn|IO\.popen|invoke-expression|Runtime\.getRuntime|ProcessBuilder|callCommand)\b",
    "system exec spawn popen passthru proc_open child_process runtime processbuilder callcommand invoke-expr",
    re.IGNORECASE,
)
_SCALA_RUN = sought(
    _BEGINS + r"\s{0,3}\)?\s{0,3}\.\s{0,3}(?:!{1,2}|lazyLines|lineStream)(?![\w=])", "! lazyLines lineStream"
)
"""A text that is run as a command by what is called on it."""
_PROGRAM_AND_LINE = sought(
    r"\bProcess(?:StartInfo|\.Start)\s?\(\s?\"([^\"\n]{1,300})\"\s?,\s?@?\"((?:[^\"\\\n]|\\.){0,2000})\"", "Process"
)
"""A program with its arguments in one text."""
_BACKTICK = sought(r"`([^`]{1,2000})`|%x[\[{(]([^\]})]{1,2000})|qx[\[{(/]([^\]})/]{1,2000})", "` %x qx")
_DELETE = sought(
    r"\b(?=[rdufoewpt])(?:rm_rf|rm_r|rmtree|remove_tree|remove_entry|remove_dir|removeDir|removeItem|delete-tree|deleteTree|delete_tree|removeTree|deltree|rmSync|rmdirSync|rmdir|unlink|unlinkSync|rm|remove|delete|Remove-Item|removeSync|os\.remove|file_delete|deleteRecursively|RemoveAll|remove_dir_all|remove_file|delete-directory(?:-tree|/files)?|delete-file|removeDirectoryRecursive|removePathForcibly|rimraf|emptyDirSync|file delete(?: -force)?|rimrafSync|(?:delete|remove|erase|wipe|purge|trash)[_-]?(?:file|dir|folder|path|tree|contents)\w{0,40}|FileUtils\.\w*rm\w*)\b"
    r"!?(?:\s*+\(\s*+(?:\w{1,20}+:\s*+)?|\s++(?:-\w{1,20}+\s++){0,4})(?:\[\s*+)?+(?:#[pP])?" + _QUOTED, "rm remove delete unlink deltree rimraf empty erase wipe purge trash", re.IGNORECASE)  # fmt: skip
_DELETED_AFTER = sought(
    _BEGINS + r"\s{0,3}\)?\s{0,3}\.\s{0,3}(?:delete\w{0,20}|removeRecursively|rmtree|unlink\w{0,20})\s?\(",
    "delete removeRecursively rmtree unlink",
)
"""A path that is deleted by what is called on it."""
_DELETES_SOMEHOW = sought(
    r"\b(?:rm_rf|rm_r|rmtree|remove_tree|rmSync|rmdirSync|unlink|unlinkSync|remove_entry|removeSync|remove_dir_all|remove_file|RemoveAll|os\.Remove|deleteRecursively|deleteIfExists|(?:File|FileUtils|Dir)\.(?:delete|unlink|rm\w*))\b",
    "rm remove Remove delete unlink",
)
_HOME_WITHIN = sought(
    r"#\{(?:ENV\[[\"']HOME[\"']\]|Dir\.home)\}|\$\{(?:process\.env\.HOME|(?:os\.)?homedir\(\))\}|\$ENV\{HOME\}(?=[/\"'])",
    "HOME home Home",
)
"""The home directory within a text."""
_HOME = sought(
    r"(?:NSHomeDirectory\(\)|getHomeDir\(\)|\(System/getProperty\s[\"']user\.home[\"']\)|\(home-dir(?:ectory)?\)|Path\.home\(\)|Dir\.home\b(?:\(\))?|(?:Deno|Bun|process)\.env\.get\([\"']HOME[\"']\)|(?<![\w.$])homedir\(\)|System\.user_home!?(?:\(\))?|os\.Getenv\([\"']HOME[\"']\)|(?:std::)?env::var\([\"']HOME[\"']\)(?:\.unwrap\(\))?|(?:dirs::)?home_dir\(\)(?:\.unwrap\(\))?|System\.get_env\([\"']HOME[\"']\)|System\.getProperty\([\"']user\.home[\"']\)|System\.getenv\([\"']HOME[\"']\)|(?:require\([\"'](?:node:)?os[\"']\)|\b[A-Za-z_]\w{0,20})\.homedir\(\)|process\.env\.HOME\b|\$?ENV[\[{][\"']?HOME[\"']?[\]}]|(?:\bos\.)?\bgetenv\([\"']HOME[\"']\)|\bENVIRON\[[\"']HOME[\"']\]|\$_(?:SERVER|ENV)\[[\"']HOME[\"']\])(?:\s*[+.]\s*([\"']))?",
    "HOME home Home",
)
"""The home directory, with the quote of a text that is joined to it."""
_WHOLE_HOME = sought(r"[\"']~[\"']", "~")
_EXPANDED = sought(
    r"\(?\b(?:path\.expand|normalizePath|expand-file-name|expand_path|expanduser|File\.expand_path)\s?\(?\s?([\"']~[^\"'\n]{0,300}[\"'])(?:\s?,\s?[\w.]{1,40})?\s?\)",
    "path.expand normalizePath expand",
)
"""A path of which a function works out the home directory."""
_HOME_FILE = sought(r"(?<=File\()System\.getProperty\([\"']user\.home[\"']\)\s{0,3},\s{0,3}([\"'])/?", "user.home")
"""The home directory as the parent of a file, in Java and Groovy."""
_GLOBBED = sought(r"\b(\w{1,40})(?:,\s?\w{1,40})?\s?:?=\s?filepath\.Glob\(([^\n]{1,300})\)[ \t]*\n", "Glob")
_EACH = sought(r"\bfor\s[\w]{1,20}\s?,\s?(\w{1,40})\s?:=\srange\s(\w{1,40})\s?\{", "range")
"""A search by a pattern in Go, and a loop over its result."""
_HOME_NAMED = sought(r"\b(\w{1,40}),\s{0,9}\w{1,40}\s{0,9}:?=\s{0,9}os\.UserHomeDir\(\)", "UserHomeDir")
"""The home directory with its error, as Go gives it."""
_SCRATCH = sought(
    r"(?:(?:require\([\"'](?:node:)?os[\"']\)|\bos|\bDir|\bFile)\.|(?<![\w.$]))(?:tmpdir\(\)|TempDir\(\))(?:\s*[+.]\s*([\"']))?|(?:std::)?env::temp_dir\(\)|System\.getProperty\([\"']java\.io\.tmpdir[\"']\)",
    "tmpdir TempDir temp_dir",
)
"""The directory of temporary files, with the quote of a text that is joined to it."""
_TMP = "/tmp"  # noqa: S108 — a name in other people's code
_SPAWNS = sought(r"(?:^|[;\n{])[^\S\n]*+spawn\s++(?:-\w++\s++)*+([^;\n}\"'(]{1,500})", "spawn")
"""Commands that expect starts."""
_RECURSIVE = sought(
    r"(?=[rdewpt-])(?:RemoveAll|removeDir|removeItem|delete-?_?tree|remove_dir_all|delete-directory|rm_rf|rm_r\b|rmtree|remove_tree|recursive|-Recurse|rimraf|remove_dir|(?:delete|remove|erase|wipe|purge|trash)[_-]?(?:dir|folder|tree)|removeDirectory|deleteDir|delete-directory|-force|emptyDir|deleteRecursively)",
    "remove delete rm_r rmtree recurs rimraf -force emptydir erase wipe purge trash",
    re.IGNORECASE,
)
_WRITE = sought(r"\b(?:writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|file_put_contents|File\.write|IO\.write|Out-File|Set-Content|Add-Content|spurt|FileWriter|copyFileSync|renameSync|symlinkSync|mkdirSync|FileOutputStream|write_file|fopen|File\.open|File\.new|open|copy)\b(?:\s*+\(\s*+|\s++)(?:[^'\"`(),]{0,80}+,\s*+[\"']>>?[\"']\s*+,\s*+)?" + _QUOTED + r"(?:\s*+,\s*+[\"']([^\"']*)[\"'])?", "write append fopen open out-file set-content add-content spurt put_contents copy rename symlink mkdir file.new outputstream", re.IGNORECASE)  # fmt: skip
_READ_MODES = frozenset({"r", "rb", "rt", "", "utf8", "utf-8", "<"})
_MAYBE_READS = later(r"(?:fopen|File\.open|File\.new|open|copy)\b", re.IGNORECASE)
_PATH = sought(r"(?<![\w.*])(~?/[A-Za-z0-9_.~*][^\s\"'`<>|;,()\[\]{}]*|~/\{[\w.,-]{1,200}\})", "/")
_CONNECTS = sought(r"(?=[fstinr:lcdw/ohug])(?:fsockopen|stream_socket_client|TCPSocket|IO::Socket|net\.connect|require\([\"'](?:net|https?|tls|dgram)[\"']\)|socket\.connect|:connect\(|fetch\(|Net::HTTP|LWP::|curl_exec|Sockets\.connect|download\(|WebClient|Invoke-WebRequest|Invoke-RestMethod|DownloadString|/inet/(?:tcp|udp)/|open-uri|HttpClient|URL\(|file_get_contents\(\s?[\"']https?:|getstore|s\.tcp\(|socket\s+-?\w*)", "socket sockopen connect( require( fetch( net::http lwp:: curl_exec .connect download( webclient invoke-webrequest invoke-restmethod downloadstring /inet/ open-uri httpclient url( file_get_contents( getstore s.tcp(", re.IGNORECASE)  # fmt: skip
_LISTENS = sought(
    r"createServer|\.listen\(|TCPServer|UNIXServer|\bbind\(|Listen\s*=>|httpd|webrick|stream_socket_server|socket_listen|HttpListener",
    "server listen bind httpd webrick",
    re.IGNORECASE,
)
_SENDS = sought(
    r"\bPOST\b|http_build_query|\.post\(|\.pipe\(\s*require|request\(|\.put\(|upload|UploadString|-Method\s+Post",
    "post pipe request put upload http_build_query",
    re.IGNORECASE,
)
_OF_ENVIRONMENT = r"(?:process\.env\.|process\.env\[[\"']|Deno\.env\.get\([\"']|Bun\.env\.|ENV\[[\"']|ENV\.fetch\([\"']|\$ENV\{[\"']?|getenv\([\"']|\$_(?:ENV|SERVER)\[[\"']|\$env:)(\w{1,80})"
_VARIABLE_SENT = sought(
    up_to_next(r"[\"'`]https?://(?!localhost|127\.0\.0\.1)", r"\S", 300)
    + rf"[\"'`]?\s{{0,3}}[+.,]?\s{{0,3}}(?:\$\{{|#\{{|\$\()?{_OF_ENVIRONMENT}"
    rf"|\b(?:body|data|form|payload|params)\b[\"']?\s{{0,3}}(?:[:=]|=>)[^\n]{{0,200}}?{_OF_ENVIRONMENT}",
    "http body data form payload params",
)
"""A variable of the environment in an address, or in what is named as a body."""
_HIDDEN = sought(r"(?=[eilfavu-])(?:(?:eval|exec|iex|Function|instance_eval|load|assert|vm\.runIn\w+)(?:\s*+\(|\s)\s*+(?:Buffer\.from|atob|base64_decode|unpack|decode_base64|Base64|get\b|gzinflate|\(?New-Object|pack\(|fetch|file_get_contents|open\(|URI|require\(['\"]https?['\"])|unserialize\s?\(\s?file_get_contents\(\s?[\"']https?:|-e(?:nc|ncodedcommand)\b|FromBase64String)", "eval exec iex function load unserialize assert vm.run -en frombase64", re.IGNORECASE)  # fmt: skip


_LOADED = sought(
    r"\b(?:(?:sys\.)?source(?:_url)?\s?\(|include(?:_once)?\s?\(?)\s?(?:(?:url|download)\(\s?)?[\"']https?://(?!localhost\b|127\.|rubygems\.org\b)"
    r"|\burl-(?:retrieve|insert|copy)[\w-]{0,40}[^\0]{0,600}?\((?:eval-(?:region|buffer|current-buffer)|load(?:-file)?)\b",
    "source include url-",
)
"""Code of another machine that R, Julia, PHP or Emacs runs as it is loaded. Without brackets, `source` is Ruby's word
for where packages come from."""
_PUT_TOGETHER = sought(
    up_to_next(r"\b(?:eval|instance_eval|class_eval|Function|system|exec|execSync|popen)\s?\(?", r"[^;\n]", 400)
    + r"(?:\.to_i\(\s?16\s?\)|\.hex\b|\.chr\b|\bhex2bin\(|\.fromCharCode\b|\.fromCodePoint\b)",
    "eval Function system exec popen",
)
"""Code, or a command, that is put together of the numbers of its characters."""
_DECODED_RUN = sought(
    r"\b(?:exec|execSync|spawn|spawnSync|system|popen|passthru|shell_exec|execFileSync)\s?\(\s?(?:Buffer\.from|atob|base64_decode|Base64\.\w{1,20}|decode_base64|unpack|gzinflate)",
    "exec spawn system popen passthru",
)
"""A command that is decoded as it is run."""
_RUNS_READ = sought(
    r"[\"'](?:curl|wget|nc|ncat)\b[^\"'\n]{0,300}[\"']\s{0,3}\|\s{0,3}getline\s{1,3}(\w{1,30})[^\0]{0,300}?\bsystem\(\s{0,3}\1\b",
    "getline",
)
"""A command of awk out of what another machine answers."""
_RUNS_SENT = sought(
    r"\b(?:exec|execSync|spawn|spawnSync|execFile|system|popen|passthru|shell_exec|proc_open|eval|assert|instance_eval|Function)\s?\(?\s?(?:[\"'`][\w ./-]{0,40}[\"'`]?\s?[+.,]\s?|`\$\{|[\"']#\{)?"
    r"(?:\$_(?:GET|POST|REQUEST|COOKIE|SERVER)\b|(?:req|request|ctx|event)\.(?:query|body|params|headers|url|request|rawBody|args)\b|params\[|request\.(?:body|params|query)|file_get_contents\([\"']php://input)"
    r"|exec\.Command\([^\n]{0,60}\b\w{1,20}\.(?:URL\.Query\(|FormValue\(|PostFormValue\(|Body\b)|`\s?(?:\$_(?:GET|POST|REQUEST)|#\{params)",
    "$_ req ctx event params php://input exec.Command",
)
"""A command, or code, that is what a request brings."""
_TCL_DELETE = sought(r"\bfile\s+(?:delete|rename)((?:\s+-\w{1,10})*)\s+([~/$][^\s;\]\"]{0,300})", "file")
"""Paths that Tcl needs no quotes for."""

_ARRAY = later(
    r"\(\s?new\s{1,3}String\s?\[\s?\]\s?\{|\(\s?(?:List|Seq|Array|Arrays\.asList|listOf|arrayOf)(?:\.of)?\s?\("
)
"""The beginning of a list of words behind a call, in Java, Kotlin and Scala."""
_BLANKS = later(r"\s{3,}")
"""Blanks in a row: each of them would be tried as the beginning of what several patterns seek behind a call."""


_STATEMENT = later(
    r"\s*+(?:select\s.*\sfrom|insert\s+(?:or\s+\w+\s+)?into|delete\s+from\s.*\swhere|update\s(?>.*?\sset\s).*\swhere|create\s+(?:unique\s+)?(?:table|index|view))\s",
    re.IGNORECASE | re.DOTALL,
)
"""A statement of SQL that `exec` is given of a database, and that loses no table and not all rows of one."""
_PLAIN_BACKTICKS = later(
    r"^\s{0,20}(?:package\s{1,9}\w{1,40}\s{0,9}$|import\s[^\n;]{0,200}\sfrom\s|export\s|(?:const|let)\s[\w{\[])|\brequire\s?\(",
    re.MULTILINE,
)
"""Said by code of Go and JavaScript, whose backticks hold a text that is not run by itself."""
_WORDS_GIVEN = sought(r"\b(\w{2,20})[ \t(]\s{0,3}%w[\[({<]([^\])}>\n]{1,500})[\])}>]\)?", "%w")
"""A list of words of Ruby that a call is given, each of which counts."""
_TAGGED = sought(r"(?<=\$)`([^`]{1,2000})`", "$`")
"""A command of a library of JavaScript that stands for the shell."""


def uses_of(code: str, *, texts: bool = True) -> Uses:
    """Return the effects of the code.

    Args:
        code: In any language, or in several.
        texts: Whether a text counts that is a command, but for all that is known is not run.
    """
    found = Uses()
    code = without_comments(code)
    code = _BLANKS.sub(lambda run: "\n" if "\n" in run[0] else "  ", code)
    if "ome" in code or "HOME" in code:
        code = _HOME_WITHIN.sub("~", code)
        code = _HOME_NAMED.sub(r'\1 := "~"', code)
        code = _HOME_FILE.sub(r"\1~/", code)
        code = _HOME.sub(lambda match: f"{match[1]}~" if match[1] else '"~"', code)
    code = _EXPANDED.sub(r"\1", code)
    code = _PATH_OF.sub(_as_text, code)
    code = _SCRATCH.sub(lambda match: f"{match[1]}{_TMP}" if match[1] else f'"{_TMP}"', code)
    if "filepath.Glob" in code:
        loops = {match[2]: match[1] for match in _EACH.finditer(code)}
        code = _GLOBBED.sub(lambda match: f"{loops.get(match[1], match[1])} := {match[2]}\n", code)
        code = _put_together(code)
    code = _put_together(plainly(written_out(_ARRAY.sub("(", code))))
    code = _BELOW.sub(lambda match: f'"{match[1].rstrip("/")}/{match[2].lstrip("/")}"', code)
    code = _WORDS_GIVEN.sub(lambda match: "; ".join(f"{match[1]} {word!r}" for word in match[2].split()), code)
    if _KILLS_PARENT.search(code):
        found.scripts.append("kill -9 $PPID")
    for match in _RUN.finditer(code):
        if not _is_statement(_literal(match)):
            found.scripts.append(_command(match, code))
    if len(code) > MAX_RUN and _RUN_LONG.search(code):
        found.cut = "a script of more than 2000 characters in code"
    found.scripts.extend(_literal(match) for match in _SCALA_RUN.finditer(code))
    found.scripts.extend(f"{match[1]} {match[2]}".replace('\\"', '"') for match in _PROGRAM_AND_LINE.finditer(code))
    for match in (_TAGGED if _PLAIN_BACKTICKS.search(code) and "<?" not in code else _BACKTICK).finditer(code):
        found.scripts.append(next(group for group in match.groups() if group))
    found.scripts.extend(match[1] for match in _SPAWNS.finditer(code))
    if texts and len(found.scripts) <= MAX_SCRIPTS:
        found.scripts.extend(command for command in commands_in(code) if command not in found.scripts)
    if _OF_STORE.search(code) and not _AT_HOME.search(code):
        found.scripts.extend(_told_stores(code))
    found.scripts.extend(_asked_by_http(code))
    found.runs = bool(found.scripts) or _RUNS_SOMEHOW.search(code) is not None
    recursive = "/" if _RECURSIVE.search(code) else ""
    for match in _DELETE.finditer(code):
        found.deletes.append(_literal(match) + recursive)
    found.deletes.extend(_literal(match) + recursive for match in _DELETED_AFTER.finditer(code))
    found.deletes.extend(_emptied(code))
    for match in _WRITE.finditer(code):
        _written(match, found)
    found.deletes.extend(f"{match[2]}/" for match in _TCL_DELETE.finditer(code))
    found.reads = [match[1] for match in islice(_PATH.finditer(code), MAX_READS)]
    if not found.deletes and _DELETES_SOMEHOW.search(code):
        found.deletes = [path + recursive for path in found.reads] or ["~/{}/"] * (_WHOLE_HOME.search(code) is not None)
    found.connects = _CONNECTS.search(code) is not None
    found.listens = _LISTENS.search(code) is not None
    found.sends = found.connects and _SENDS.search(code) is not None
    if found.connects:
        sent = (next(filter(None, match.groups())) for match in _VARIABLE_SENT.finditer(code))
        found.secret = next(filter(names_secret, sent), "")
    fetched = (found.connects and _RUNS_ANSWER.search(code)) or _runs_fetched(code)
    found.hidden = (
        "decodes or fetches code, and runs it"
        if fetched or any(one.search(code) for one in (_HIDDEN, _DECODED_RUN, _RUNS_READ, _LOADED, _PUT_TOGETHER))
        else ""
    ) or ("runs code that others send it" if _RUNS_SENT.search(code) else "")
    return found


_PATH_OF = sought(
    r"(?:\bPaths?\.(?:of|get)|\bnew\s(?:java\.io\.)?File|\b(?:std::path::)?Path(?:Buf)?::(?:new|from)|\bPath\.Combine)\(\s?"
    r"\"([^\"\\\n]{0,300})\"(?:\s?,\s?\"([^\"\\\n]{0,300})\")?\s?\)",
    "Path File",
)
"""A path that is made of texts."""
_BELOW = sought(
    r"\"([^\"\\\n]{0,300})\"\s?\.\s?(?:resolve|join|child)\(\s?\"([^\"\\\n]{0,300})\"\s?\)", "resolve join child"
)
"""A path below another one."""


def _as_text(match: re.Match[str]) -> str:
    return f'"{match[1].rstrip("/")}/{match[2].lstrip("/")}"' if match[2] else f'"{match[1]}"'


_WALKED = sought(
    r"(?:\bFiles\.(?:walk|list|find|walkFileTree|newDirectoryStream)|\bfilepath\.Walk(?:Dir)?|\bWalkDir::new|\bread_dir|\b(?:os|ioutil)\.ReadDir|\bDirectory\.(?:Get|Enumerate)\w{4,20}|\bDirectoryInfo|\b(?:nftw|ftw|opendir|scandir)"
    r"|\brecursive_directory_iterator|\breaddir(?:Sync)?|\bglob(?:\.sync|Sync)?|\bDir\.(?:glob|each_child|children)|\bFind\.find)\(\s?&?(?:\"([^\"\\\n]{1,300})\"|'([^'\\\n]{1,300})')"
    r"|\"([^\"\\\n]{1,300})\"\)?\.(?:walk(?:TopDown|BottomUp)?|listFiles)\(",
    "Files. Walk read_dir ReadDir Directory ftw opendir scandir iterator readdir glob Dir. Find walk listFiles",
)
"""A directory whose files are gone through."""
_DELETES_EACH = sought(
    r"\.(?:delete|deleteIfExists|deleteOnExit|deleteRecursively|Delete|unlink)\(\s?\)|\bFiles\.delete(?:IfExists)?\(\s?\w|\bFiles::delete|\bos\.Remove(?:All)?\(\s?\w|\bremove_(?:file|dir|dir_all)\(\s?&?\w|\b(?:File|Directory)\.Delete\(\s?\w|\b(?:remove|unlink|rmdir|unlinkSync|rmSync)\(\s?[a-z]\w{0,20}\s?[),.]",
    "elete Remove remove unlink rmdir rmSync",
)
"""A deletion of what a name stands for."""
_NEAR = 600
"""Characters around the walk in which its deletion stands: a callback of C stands before it."""


def _emptied(code: str) -> Iterator[str]:
    """Yield the directories whose files code goes through and deletes."""
    for match in islice(_WALKED.finditer(code), MAX_TOLD):
        if _DELETES_EACH.search(code[max(0, match.start() - _NEAR) : match.end() + _NEAR]):
            yield f"{match[1] or match[2] or match[3]}/"


_STARTED_BY_NAME = sought(
    r"\b(?:Command::new|exec\.Command|spawn(?:Sync)?|execFile(?:Sync)?|ProcessBuilder|Process\.Start|execv?p?|system|Popen)\(\s?&?([A-Za-z_]\w{0,40})\s?[,).]",
    "Command spawn execFile ProcessBuilder Process.Start exec system Popen",
)
"""A program that is started by the name of a variable."""
_FETCHES_INTO = sought(
    up_to_next(r"[\"'`](?:curl|wget|aria2c)\b", r"[^;]", 300) + r"https?:[^;]{0,300}",
    "curl wget aria2c",
)
"""A download to a file, by a program of its own."""
_PUTS_INTO = sought(
    r"\b(?:File::create|fs::write|os\.Create|os\.WriteFile|createWriteStream|writeFileSync|FileOutputStream|File\.WriteAllBytes|Files\.copy\([^\n()]{0,100},|Files\.write)\(?\s?&?([A-Za-z_]\w{0,40})\s?[,)]",
    "create write Create Write OutputStream Files.copy",
)
"""A file into which code writes, by the name of a variable."""


def _runs_fetched(code: str) -> bool:
    """Whether code starts the very file into which it has something fetched."""
    started = {match[1] for match in islice(_STARTED_BY_NAME.finditer(code), MAX_TOLD)}
    if not started:
        return False
    fetched = {name for match in islice(_FETCHES_INTO.finditer(code), MAX_TOLD) for name in _NAME.findall(match[0])}
    if _CONNECTS.search(code) or _GETS.search(code):
        fetched |= {match[1] for match in islice(_PUTS_INTO.finditer(code), MAX_TOLD)}
    return not started.isdisjoint(fetched)


_NAME = later(r"\b[A-Za-z_]\w{0,40}")
_GETS = sought(
    r"\b(?:reqwest|ureq)::|\bhttp\.Get\(|\bopenStream\(|\bDownloadFile", "reqwest ureq http.Get openStream DownloadFile"
)


_HTTP_CALL = sought(
    r"\b(?:axios|got|ky|superagent|needle|HTTParty|RestClient|Faraday|Unirest|Http|client|api|http)(?:\.|::)(delete|post|put|patch)\s?\(?\s?"
    + _QUOTED,
    "delete post put patch",
)
_FETCHED = sought(
    r"\b(?:fetch|request|ofetch)\(\s?"
    + _QUOTED
    + r"\s?,\s?\{[^{}]{0,200}?\bmethod\s?:\s?[\"'](DELETE|POST|PUT|PATCH)[\"']",
    "method",
)
"""Requests by which something at an address is changed."""


def _asked_by_http(code: str) -> Iterator[str]:
    """Yield the requests of code that change something, as the same said by curl."""
    for match in islice(_HTTP_CALL.finditer(code), MAX_TOLD):
        url = match[2] or match[3] or match[4] or ""
        if "://" in url and "${" not in url:
            yield f"curl -X {match[1].upper()} {shlex.quote(url)}"
    for match in islice(_FETCHED.finditer(code), MAX_TOLD):
        if "://" in (url := _literal(match)) and "${" not in url:
            yield f"curl -X {match[4]} {shlex.quote(url)}"


_OF_STORE = sought(
    r"\bnew\s{1,3}(?:PDO|mysqli|SQLite3)\b|\b(?:pg_connect|mysqli_connect|DriverManager\.getConnection|DBI->connect|Sequel\.connect|PG\.connect|Mysql2::Client|sql\.Open)\s?\(|(?:\brequire|\bfrom|\bimport|\buse)\b\s{0,3}\(?\s{0,3}[\"'](?:node:)?(?:@aws-sdk/|@google-cloud/|@azure/|@elastic/|@prisma/|@octokit/|@slack/|@supabase/|@planetscale/|@neondatabase/|aws-sdk|mongodb|mongoose|pg|postgres|mysql2?|mariadb|ioredis|redis|knex|sequelize|typeorm|stripe|firebase-admin|octokit|mssql|oracledb|cassandra-driver|neo4j-driver|kafkajs|ldapjs|algoliasearch|sequel|sequel_pg|activerecord|aws-sdk-\w{1,40}|mongo|dalli)\b",
    "aws google-cloud azure elastic prisma octokit slack supabase planetscale neon mongo pg postgres mysql mariadb redis knex sequel typeorm stripe firebase mssql oracledb cassandra neo4j kafka ldap algolia activerecord dalli PDO SQLite3 PG DBI DriverManager Sequel Mysql2 sql.Open",
)
"""A library of stores, or of others' services."""
_AT_HOME = sought(r"localhost|127\.0\.0\.1|\[::1\]|:memory:|_test\b|\btest_", "localhost 127. ::1 memory test")
_EMPTIED = sought(
    r"[.\s](flush_?all|flush_?db|drop_?database|drop_?collection|truncate_?table|drop)\s?\(|(?:\bnew\s{1,3}|\.)((?:delete|terminate|destroy|purge|drop|remove)(?:Bucket|Table|Database|Instance|Cluster|Collection|Index|Queue|Topic|Stack|Function|User|Volume|Snapshot|Repo|Repository|Project|Group|Key|Secret|Domain|Customer|Object|Stream)\w{0,30})\(",
    "flush drop truncate delete terminate destroy purge remove",
    re.IGNORECASE,
)
"""A call that empties a store, or takes away what others use; a list and a text have no such calls."""
_ASKED = sought(
    r"(?:\.|->)(?:query|execute|executeUpdate|do|raw|exec|run|\$executeRaw(?:Unsafe)?|none|any)\s?\(?\s?" + _QUOTED,
    "query exec raw run none any do",
)
MAX_TOLD = 20
"""Most calls of one kind that stores are told by."""


def _told_stores(code: str) -> Iterator[str]:
    """Yield what code has stores do, as the same said to their programs."""
    for match in islice(_EMPTIED.finditer(code), MAX_TOLD):
        if match[1]:
            yield "redis-cli FLUSHALL" if match[1].lower().startswith("flush") else "mongosh --eval 'db.dropDatabase()'"
        else:
            yield f"aws sdk {_HUMPS.sub('-', match[2]).lower()}"
    for match in islice(_ASKED.finditer(code), MAX_TOLD):
        yield f"psql -c {shlex.quote(_literal(match)[:MAX_STATEMENT])}"


_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
MAX_STATEMENT = 2_000
"""Most characters of a statement that is judged."""


_KILLS_PARENT = sought(
    r"process\.kill\(\s*process\.ppid(?!\s*,\s*0\s*\))|Process\.kill\((?!\s*0\s*,)[^()\n]{1,40},\s*Process\.ppid|\bkill\b(?!\s*+\(?\s*+0\s*+,)[^;\n]{1,40}\bgetppid\b(?!\s*(?:\(\s*\))?\s*,\s*0\s*\))|posix_kill\(\s*posix_getppid(?!\(\),\s*0\))",
    "kill",
)
_RUNS_ANSWER = sought(
    r"\(\s?0\s?,\s?eval\s?\)\s?\(|\bGroovyShell\b[^\n]{0,60}\.(?:evaluate|run|parse)\(|\.then\(\s*(?:eval|Function|new Function)\b|\bFunction\([\"'\w$][^()\n]{0,100},\s?[A-Za-z_$][\w$]{0,40}\s?\)|\beval\(\s*(?:await\b|\w{1,30}\.(?:data|body|text)\b)"
    r"|\b(?:eval|instance_eval|class_eval|Function|vm\.runIn\w{1,20})\s?\(?\s?[$A-Za-z_][\w$]{0,40}(?:\s?[);,]|\Z)",
    "eval Function vm.run GroovyShell",
)
"""Code that runs what another machine answers."""


def _is_statement(text: str) -> bool:
    plain = text.rstrip("; \n")
    return _STATEMENT.match(plain) is not None and not any(mark in plain for mark in (";", "&", "|", "`", "$("))


_MORE = later(r"\s*+,\s*+(?:\[\s*+)?+" + _QUOTED)
_CHAINED = later(r"\s*+(?:\]\s*+)?+\)\s{0,20}\.\s{0,20}args?\(\s*+&?(?:\[\s*+)?+" + _QUOTED)
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
_USED = later(r"(?<=[(\s])\$?[A-Za-z_]\w*+(?=\s*[),;+.]|\s*$|\s\S)", re.MULTILINE)
"""A name where a variable is used."""
MAX_READS = 200
"""Most paths among the texts that are looked at."""
MAX_NAMES = 50
"""Most variables whose text is inserted at their uses."""


def _put_together(code: str) -> str:
    """Return the code with pieces of text joined, and variables in calls replaced by the text that they hold."""
    code = folded(_JOINED.sub("", code))
    named = dict(islice(((match[1], match[2]) for match in _NAMED.finditer(code)), MAX_NAMES))
    if not named:
        return code
    used = _USED.sub(
        lambda match: match[0] if match[0] not in named or _SETS.match(code, match.end()) else named[match[0]], code
    )
    filled = placed(used, {name: value[1:-1] for name, value in named.items()})
    return code if filled == code else folded(filled)


def _written(match: re.Match[str], found: Uses) -> None:
    mode = (match[4] or "").lower()
    if not mode and _OPENED_TO_WRITE.match(match.string, match.end()):
        mode = "w"
    if _MAYBE_READS.match(match[0]) and (mode in _READ_MODES and ">" not in match[0]):
        return
    path = _literal(match).lstrip("> ")
    found.writes.append(path)
    if _WRITES_TEXT.match(match[0]):
        found.files[path] = match[4]


_OPENED_TO_WRITE = later(r"\s?,\s?[\w|\s]{0,60}(?:O_WRONLY|O_RDWR)")
_WRITES_TEXT = later(r"writeFile(?:Sync)?|file_put_contents|(?:File|IO)\.write")
"""Calls whose second operand is the text of the file."""


def _literal(match: re.Match[str]) -> str:
    text = match[1] or match[2] or match[3] or ""
    return text.replace('\\"', '"').replace("\\'", "'")
