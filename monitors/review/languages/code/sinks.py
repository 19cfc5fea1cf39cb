"""Calls of Python that reach beyond the program: what they run, delete, write, read, send and end."""

import re
import shlex
from collections.abc import Mapping, Sequence

from monitors.review.languages.code.constants import (
    HOLE,
    Name,
    OpenFile,
    OtherProcess,
    Value,
    partly,
    secret_of,
    text_of,
)
from monitors.review.languages.code.literals import PROGRAMS, begins
from monitors.review.languages.code.uses import Uses
from monitors.review.shell.secret_names import hosts_in, mark, secret_variable, shown_to_strangers
from monitors.review.shell.shells import SHELLS

SENT = Name("request.data")
"""Stands for what others send to a server."""
HEARS = frozenset({"recv", "recvfrom", "rfile", "receive_text", "receive_json", "receive_bytes", "get_json"})
"""Methods, and an attribute of handlers, that give what others have sent."""
RUNS_SENT = "runs code that others send it"
_REQUEST = re.compile(r"(?:\A|\.)(?:request|req|websocket)\.")
MANY = 4
"""Items from which on a loop counts as one over many."""


def is_sent(value: Value) -> bool:
    """Whether a value is, or is made of, what others have sent."""
    return isinstance(value, Name) and _REQUEST.search(value.path) is not None


MAX_FOUND = 300
"""Most paths of one kind that are noted."""

_RUNS = frozenset({"system", "popen", "run", "call", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput", "spawn", "create_subprocess_shell", "create_subprocess_exec", "spawnl", "spawnv", "spawnlp", "spawnvp", "posix_spawn"})  # fmt: skip
_RUN_OWNERS = frozenset({"os", "subprocess", "sp", "pty", "commands", "asyncio", "popen2", "pexpect", ""})
_MAY_RUN = frozenset({"run", "local", "sudo", "execute", "Execute", "shell", "sh", "cmd", "command", "Command", "exec", "exec_", "call", "run_command", "run_cmd", "bash", "local_resource", "start", "submit", "invoke", "do", "spawn"})  # fmt: skip
"""Names by which libraries and tools of builds run a command, whatever they are called on."""
_EXECS = frozenset({"execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe"})
_SPAWNS = frozenset({"spawnl", "spawnv", "spawnlp", "spawnvp"})
"""Calls whose first operand is a mode, and whose second is the program."""
_DELETES = frozenset({"rmtree", "remove", "unlink", "rmdir", "removedirs", "truncate"})
_WRITES = frozenset(
    {
        "write_text", "write_bytes", "copy", "copyfile", "copy2", "copytree", "move", "rename", "replace", "symlink",
        "link", "makedirs", "mkdir", "touch", "chmod", "chown", "urlretrieve", "symlink_to", "hardlink_to",
    }
)  # fmt: skip
_CONNECTS = frozenset({"urlopen", "urlretrieve", "Request", "create_connection", "HTTPConnection", "HTTPSConnection", "FTP", "SMTP"})  # fmt: skip
_HTTP = frozenset({"requests", "httpx", "aiohttp", "urllib3"})
_STORES = frozenset({"sqlite3", "psycopg2", "psycopg", "db", "pymysql", "MySQLdb", "duckdb", "asyncpg", "mysql", "redis", "aiosqlite"})  # fmt: skip
"""Libraries of databases; a connection to one is no connection that sends."""
_LISTENS = frozenset({"serve_forever", "listen", "HTTPServer", "TCPServer", "run_server"})
_FIRST = frozenset({"rmtree", "remove", "unlink", "rmdir", "removedirs", "truncate", "makedirs", "mkdir", "chmod", "chown"})  # fmt: skip
_ALSO_TEXT = frozenset({"replace", "rename", "copy", "link", "move"})
"""Names that texts and tables have as well. With two operands they concern files only if they are called on the
module."""
_FILES = frozenset({"os", "shutil", "path", ""})
_MOVES = frozenset({"move", "rename", "replace", "renames"})
_ALSO_LISTS = frozenset({"remove", "truncate"})
"""Names that lists, sets and open files have as well: they delete only if they are called on the module."""
_STATEMENTS = frozenset({"execute", "executescript", "executemany", "exec_driver_sql"})
_LOSES = re.compile(r"\s*(?:drop|truncate|delete\s+from|alter|grant|revoke|update)\b", re.IGNORECASE)
_REBUILDS = frozenset({"pickle", "cPickle", "dill", "cloudpickle", "marshal", "jsonpickle", "joblib", "torch"})
"""Libraries that run what a stored object says while they make it anew."""
_LOCAL_STORES = frozenset({"sqlite3", "duckdb", "aiosqlite"})
_SDK = {
    "boto3": "aws sdk", "botocore": "aws sdk", "huggingface_hub": "huggingface-cli repo", "github": "gh repo",
    "gitlab": "glab repo", "stripe": "stripe sdk", **dict.fromkeys((
        "elasticsearch", "opensearchpy", "azure", "google", "slack_sdk", "notion_client", "pinecone", "qdrant_client",
        "weaviate", "hcloud", "openstack", "digitalocean", "cloudflare", "jira", "twilio", "proxmoxer", "confluent_kafka",
        "cassandra", "ldap3", "kafka", "algoliasearch", "sendgrid", "shopify", "simple_salesforce", "okta", "auth0", "asana",
        "linode_api4", "heroku3", "tencentcloud", "oci", "pymilvus", "influxdb_client", "pika",
    ), "aws sdk"),
}  # fmt: skip
"""Libraries of others' services, each with the program that a call to end something is judged as."""
_AT_HOME = re.compile(
    r"(?:[a-z+]{2,20}://)?(?:[^@/\s]{0,80}@)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?:[:/]|\Z)"
)
"""An address of this machine, where stores for tests and development are."""
_CLUSTER = re.compile(r"delete_(?:namespaced_|collection_)?(\w+)\Z")
IS_PATH = re.compile(r"^(?:~|\.{0,2}/)|\{\}")
"""Texts that are surely paths."""
_DEFAULT_MODE = "r"
_QUOTED_HOME = "'~'"
_FLUSHES = {"flushall": "redis-cli FLUSHALL", "flushdb": "redis-cli FLUSHDB", "drop_database": "mongosh --eval 'db.dropDatabase()'"}  # fmt: skip


def named(found: Uses, text: str) -> None:
    """Note a text of the code that looks like a path."""
    if "/" in text or text[:1] == "~":
        found.reads.append(text[:1000])
    if "sqlite" in text or ":memory:" in text:
        found.imports.add("sqlite3")  # the engine of another library is that store


def opened(found: Uses, values: Sequence[Value], named_: Mapping[str, Value]) -> Value:
    """Note that a file is opened; the file, if it is written to."""
    path = text_of(values[0]) if values else text_of(named_.get("file"))
    mode = text_of(values[1]) if len(values) > 1 else text_of(named_.get("mode", _DEFAULT_MODE))
    if mode and any(letter in mode for letter in "wax+"):
        if path:
            _noted(found.writes, path)
            if "a" not in mode:
                found.files[path] = ""
        elif not values:
            _noted(found.writes, HOLE)
        return OpenFile(path or HOLE)
    if path and HOLE not in path and path not in found.reads:
        _noted(found.reads, path)
    return OtherProcess("reader")


def called(
    found: Uses,
    owner: str,
    name: str,
    values: Sequence[Value],
    named_: Mapping[str, Value],
    *,
    path: str = "",
    receiver: Value = None,
    quiet: bool = False,
) -> None:
    """Note the effect of a call.

    Args:
        found: The effects so far.
        owner: Name of what the function is in; `?` for a method of a value.
        name: Its own name.
        values: Its operands.
        named_: Its operands with names.
        path: Its whole name, from the module on, as far as it is known.
        receiver: The value whose method it is.
        quiet: Whether nothing is known to call this with; what would be deleted is then not known, and not noted.
    """
    texts = [text_of(value) for value in values]
    first = texts[0] if texts else None
    if name == "chdir" and first and owner == "os":
        found.folder = first
    elif name == "exec_command" and first:
        found.scripts.append(f"ssh host {shlex.quote(first)}")
    elif (name in _RUNS and owner in _RUN_OWNERS and path != "asyncio.run") or (name == "system" and first):
        _run(found, name, values, named_)
    elif name in _EXECS:
        _run(found, "create_subprocess_exec", _handed_over(name, values), {})
    elif name == "run_path" and found.connects:
        found.hidden = found.hidden or "runs a file that it may have fetched"
    elif name in _DELETES and (name not in _ALSO_LISTS or owner in ("os", "shutil", "")):
        _deleted(found, name, receiver if owner == "?" and first is None else (values[0] if values else None), quiet)
    elif isinstance(receiver, OpenFile) and name in ("write", "writelines"):
        before = found.files.get(receiver.path)
        found.files[receiver.path] = None if first is None or before is None else before + first
    elif name in _WRITES and not (name in _ALSO_TEXT and len(texts) > 1 and owner not in _FILES):
        _written(found, name, texts, receiver)
    elif name in ("read_text", "read_bytes", "open") and isinstance(receiver, str):
        _noted(found.reads, receiver)
    elif name in _MAY_RUN and first and begins(first) and path != "asyncio.run":
        words = [text or HOLE for text in texts]
        found.scripts.append(first if " " in first.strip() else _quoted(words))
    elif owner == "sh" and name in PROGRAMS:
        found.scripts.append(_quoted([name, *(text or HOLE for text in texts)]))
    elif name in ("load", "loads") and owner in _REBUILDS and found.connects and not _is_file(values):
        found.hidden = found.hidden or "decodes or fetches code, and runs code"
    elif name in ("kill", "killpg", "terminate", "send_signal"):
        _killed(found, owner, values, path)
    elif name in _STATEMENTS and first and _LOSES.match(first) and not found.imports & _LOCAL_STORES:
        found.scripts.append(f"psql -c {shlex.quote(first)}")
    found.at_home = found.at_home or any(
        text and _AT_HOME.match(text) for text in (*texts, *map(text_of, named_.values()))
    )
    _sdk(found, owner, name, path)
    if not quiet and not found.at_home and _writes_to_people(found, name, path, texts):
        found.writes_to_many = found.writes_to_many or bool(found.looping) or name in _AT_ONCE
    _network(found, owner, name, values, named_, path, quiet=quiet)


_MAILS = frozenset({"sendmail", "send_message", "send_mail", "send_email", "send_templated_email", "send_sms", "send_template"})  # fmt: skip
_AT_ONCE = frozenset({"send_mass_mail", "send_bulk_templated_email", "send_bulk_email", "mail_managers"})  # fmt: skip
_MAIL_HOSTS = re.compile(
    r"https://[\w.-]*(?:mailgun|sendgrid|postmarkapp|mandrillapp|mailchimp|sparkpost|resend|brevo|sendinblue|mailjet|twilio|vonage|nexmo|messagebird|plivo|clicksend|onesignal|klaviyo|customer|intercom|exp|fcm\.googleapis|loops|courier|graph\.facebook|api\.telegram)\.(?:com|net|io|org|host|so)\b"
)
"""Services that send mail, messages or notices to people."""
_MAIL_LIBRARIES = frozenset({"sendgrid", "twilio", "resend", "postmarker", "mailchimp_transactional", "mailjet_rest", "vonage", "messagebird", "plivo", "brevo_python"})  # fmt: skip


def _writes_to_people(found: Uses, name: str, path: str, texts: Sequence[str | None]) -> bool:
    if name in _MAILS or name in _AT_ONCE:
        return True
    if name in ("post", "request", "urlopen", "Request", "put"):
        return any(text and _MAIL_HOSTS.match(text) for text in texts)
    return name in ("send", "create") and bool({path.partition(".")[0], *found.imports} & _MAIL_LIBRARIES)


def _is_file(values: Sequence[Value]) -> bool:
    return bool(values) and (isinstance(values[0], (OtherProcess, OpenFile)) or text_of(values[0]) is not None)


def _handed_over(name: str, values: Sequence[Value]) -> Sequence[Value]:
    """The words of a program that takes the place of this one: its path, and its arguments but for its own name."""
    if name.startswith("execl"):
        return [*values[:1], *(values[2:-1] if name in ("execle", "execlpe") else values[2:])]
    words = values[1] if len(values) > 1 else None
    return [*values[:1], *(words[1:] if isinstance(words, tuple) else ())]


def _noted(paths: list[str], path: str) -> None:
    if len(paths) < MAX_FOUND:
        paths.append(path)


def _run(found: Uses, name: str, values: Sequence[Value], named_: Mapping[str, Value]) -> None:
    found.runs = True
    argument = values[0] if values else named_.get("args", named_.get("cmd"))
    if name in _SPAWNS:
        argument = tuple(values[2:] if len(values) > 2 and not isinstance(values[2], tuple) else values[1:2])
    if name == "create_subprocess_exec":
        argument = tuple(values)
    words = argument if isinstance(argument, tuple) else (argument,)
    if any(map(is_sent, words[:1])) or (words[0] in SHELLS and any(map(is_sent, words))):
        found.hidden = RUNS_SENT
    there = f"cd {shlex.quote(found.folder).replace(_QUOTED_HOME, '~')}\n" if found.folder else ""
    if isinstance(argument, tuple):
        found.scripts.append(there + _quoted([text_of(value) or HOLE for value in argument]))
    elif (text := text_of(argument)) is not None:
        found.scripts.append(there + text)
    elif argument is not None:
        found.hidden = found.hidden or "runs a command that is put together as it goes"


def _deleted(found: Uses, name: str, target: Value, quiet: bool) -> None:
    path = text_of(target)
    if path is None and quiet:
        return
    path = HOLE if path is None else path
    everything = path.startswith(("~/{}", "/{}"))
    _noted(found.deletes, path + "/" if name == "rmtree" or everything else path)


def _written(found: Uses, name: str, texts: Sequence[str | None], receiver: Value) -> None:
    known = [text for text in texts if text]
    own = text_of(receiver)
    if name in ("write_text", "write_bytes", "touch"):
        _noted(found.writes, own or HOLE)
        if own:
            found.files[own] = texts[0] if texts else ""
    elif name in ("symlink_to", "hardlink_to"):
        found.writes.append(own or HOLE)
        found.reads += known[:1]
    elif known:
        _noted(found.writes, known[0] if name in _FIRST else known[-1])
        if name not in _FIRST and len(texts) > 1 and texts[0] and texts[0] not in found.reads:
            _noted(found.reads, texts[0])
    if name == "urlretrieve" and len(texts) > 1 and texts[1]:
        found.files[texts[1]] = None
    if name in _MOVES and len(texts) > 1 and texts[0]:
        _noted(found.moves, texts[0])
    elif name in _MOVES and own and texts:
        _noted(found.moves, own)


def _killed(found: Uses, owner: str, values: Sequence[Value], path: str) -> None:
    """Say the same as a command, which is judged by whom it would hit."""
    target = values[0] if values else None
    if values[1:2] in ([0], (0,)):
        return  # signal 0: it asks whether the process is there
    if "getppid" in path or "getpgrp" in path or (isinstance(target, OtherProcess) and target.which == "parent"):
        found.scripts.append("kill -9 $PPID")
    elif owner in ("os", "") and (target == -1 or partly(target).startswith("/proc")):
        found.scripts.append("kill -9 -1")


def _sdk(found: Uses, owner: str, name: str, path: str) -> None:
    """Calls of the clouds' and clusters' libraries, as the same said to their programs."""
    library = path.partition(".")[0]
    if owner == "?" and library not in _SDK:  # something that a library has listed, as far as is known
        library = next((one for one in found.imports if one in _SDK), library)
    if name in _FLUSHES and found.imports & {"redis", "valkey", "pymongo", "motor"}:
        found.scripts.append(_FLUSHES[name])
    whole = name in ("delete", "terminate", "destroy", "empty", "purge", "delete_by_query")
    if found.at_home:
        return
    if "docker" in found.imports and (
        (library == "docker" and name.startswith("prune"))
        or (name in ("remove", "kill", "stop") and owner == "?" and found.looping)
    ):
        found.scripts.append("docker rm -f $(docker ps -aq)")
    if library in _SDK and (whole or name.startswith(("delete_", "terminate_", "destroy_", "purge_"))):
        found.scripts.append(f"{_SDK[library]} {'delete-all' if whole else name.replace('_', '-')}")
    elif library == "kubernetes" and (kind := _CLUSTER.match(name)):
        found.scripts.append(f"kubectl delete {kind[1]} x")


def _network(
    found: Uses,
    owner: str,
    name: str,
    values: Sequence[Value],
    named_: Mapping[str, Value],
    path: str,
    *,
    quiet: bool,
) -> None:
    library = path.partition(".")[0]
    http = library in _HTTP and "." in path
    if name in _CONNECTS or http or (name == "connect" and not {owner, library} & _STORES):
        found.connects = True
        sends = {"data", "files", "json", "content"}.intersection(named_)
        found.sends = found.sends or name in ("post", "put", "patch") or len(values) > 1 or bool(sends)
        _carried(found, name, values, named_)
        if (
            not quiet
            and http
            and name in _CHANGES
            and (url := text_of(values[0] if values else named_.get("url")))
            and HOLE not in url
        ):
            body = " -d x" if {"data", "json"}.intersection(named_) else ""
            key = f" -u {shlex.quote(_login(named_))}" if "auth" in named_ else ""
            found.scripts.append(f"curl -X {name.upper()} {shlex.quote(url)}{key}{body}")
    elif library in _LINES and name in _SENDING:
        found.secret = found.secret or secret_of(tuple(values[:3]))
    if name in _LISTENS or (name == "test" and owner == "server"):
        found.listens = True


_CHANGES = frozenset({"delete", "post", "put", "patch"})
"""Methods of HTTP by which something is changed: judged as the same said by curl."""


def _login(named_: Mapping[str, Value]) -> str:
    login = named_.get("auth")
    return text_of(login[0] if isinstance(login, tuple) and login else login) or "x"


_LINES = frozenset({"socket", "smtplib", "ssl", "http", "ftplib", "telnetlib", "websocket", "websockets"})
"""Libraries of connections that are made first, and written to then."""
_SENDING = frozenset({"send", "sendall", "sendto", "sendmail", "send_message", "request", "storbinary", "write", "gethostbyname", "getaddrinfo"})  # fmt: skip
_LOGS_IN = frozenset({"headers", "auth", "cookies", "cert", "proxies"})
"""Operands by which a request says who asks."""
_HERE = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?:[:/]|\Z)")


def _carried(found: Uses, name: str, values: Sequence[Value], named_: Mapping[str, Value]) -> None:
    """Note a secret in the address or the body of a request to another machine."""
    operands = (*values, *(value for key, value in named_.items() if key not in _LOGS_IN))
    if not any(_HERE.match(partly(value)) for value in operands) and name not in ("Session", "Client", "AsyncClient"):
        found.secret = found.secret or secret_of(operands)
        logs_in = secret_of(tuple(value for key, value in named_.items() if key in _LOGS_IN))
        if logs_in and shown_to_strangers(logs_in, hosts_in(map(partly, values[:2]))):
            found.secret = found.secret or logs_in


def _quoted(words: list[str]) -> str:
    return " ".join(word if word == HOLE else _open_secrets("'" + word.replace("'", "'\\''") + "'") for word in words)


def _open_secrets(quoted: str) -> str:
    """Take what stands for a secret out of the quotes, so that the command is read as having it."""
    name = secret_variable(quoted) if "${" in quoted else ""
    return quoted.replace(mark(name), f"'\"{mark(name)}\"'") if name else quoted
