"""Tools of others' services, judged by their names and plain fields: what they take away, show, send or pay."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from monitors.review.checks.people import EVERY_ONE, MENTIONS, is_telephone
from monitors.review.checks.sending import PERSONAL
from monitors.review.checks.trial import AT_HAND, TRIAL
from monitors.review.knowledge.book import PEOPLE
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect, sent_secret

MAX_FIELDS = 2_000
"""Most fields of one group that are judged, and most items of one list. What has more, and has something run, is
blocked."""
MAX_DEPTH = 24
"""Deepest nesting of fields that is looked at. Steps of a plan are at two, blocks of a page within blocks at twelve."""
MAX_TEXT = 20_000
"""Most characters judged of one field."""


def _listed(name: str) -> frozenset[str]:
    """Return a list of the words of messages to many people."""
    return frozenset(PEOPLE[name].split("|"))


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_DESTROYS = frozenset({"destroy", "drop", "purge", "truncate", "terminate", "wipe", "erase", "nuke", "revoke", "uninstall", "empty", "deactivate", "deprovision", "obliterate"})  # fmt: skip
DELETES = frozenset({"delete", "remove", "rm", "unlink", "rmdir", "trash", "clear", "del", *_DESTROYS})
_SHARED = frozenset({
    "repo", "repository", "branch", "project", "database", "db", "table", "bucket", "namespace", "ns", "cluster", "org",
    "organization", "environment", "env", "app", "application", "service", "instance", "user", "volume", "collection",
    "deployment", "zone", "domain", "vm", "server", "stack", "team", "account", "site", "schema", "release", "tag", "vpc",
    "snapshot", "backup", "backups", "all", "everything", "workspace", "role", "policy", "secret", "dataset", "worker", "many", "index", "queue", "topic", "pg", "function", "lambda", "pipeline", "host", "tenant", "customer", "member", "group", "trash", "drive", "share", "container", "registry", "topics", "stream", "key", "certificate", "realm", "network", "subnet", "disk", "image",
})  # fmt: skip
"""Things on other machines that others use as well, and that a call to delete takes from them."""
_MONEY = frozenset({"refund", "payout", "charge", "withdraw", "purchase", "disburse", "reimburse"})  # fmt: skip
_PAYS = frozenset({"pay", "transfer", "send", "wire", "create", "submit", "place", "execute", "approve", "initiate", "finalize", "void", "buy", "sell", "swap", "trade", "confirm", "capture", "update", "sign", "broadcast"})  # fmt: skip
_FUNDS = frozenset({"payment", "payments", "payouts", "refunds", "money", "funds", "transfer", "withdrawal", "order", "trade", "eth", "btc", "sol", "usdc", "token", "tokens", "balance", "bill", "invoice", "transaction", "crypto", "wallet", "stock", "shares", "option", "position", "paypal", "ach"})  # fmt: skip
"""Words by which a tool that pays says what it moves; two of them, a verb and a thing, are needed."""
_PAYERS = frozenset({"stripe", "paypal", "wise", "plaid", "square", "adyen", "coinbase", "binance", "kraken", "alpaca", "robinhood", "bank", "banking", "mercury", "brex", "ramp", "revolut", "razorpay", "braintree", "payments", "billing", "wallet", "solana", "ethereum", "evm", "bitcoin", "trading", "broker", "ibkr", "quickbooks", "xero", "chargebee", "recurly", "paddle", "gocardless"})  # fmt: skip
"""Servers of banks, markets and those who collect money."""
_LOOKS = frozenset({"list", "get", "read", "search", "find", "show", "describe", "retrieve", "count", "query", "fetch", "status", "draft", "preview"})  # fmt: skip
"""Verbs of tools that only look."""
WRITES = frozenset({"write", "create", "edit", "save", "append", "update", "patch", "insert", "replace", "put", "copy", "cp", "modify", "str", "upload", "download", "push", "commit"})  # fmt: skip
FROM = frozenset({"source", "src", "from", "old_path", "oldpath", "source_path", "old_name"})
TO = frozenset({"destination", "dest", "dst", "to", "target", "new_path", "newpath", "destination_path", "new_name"})
PATHS = frozenset({"path", "file_path", "filepath", "file", "filename", "directory", "dir", "folder", "paths", "files", "uri", "location", "relative_path", "absolute_path", "file_paths", *FROM, *TO})  # fmt: skip
_PLAIN = (str, int, float, type(None))


def words_of(tool: str) -> tuple[list[str], list[str]]:
    """Return the words of a tool's own name, and those of its server's name, in lower case."""
    _, _, rest = tool.partition("__")
    server, _, name = rest.replace("k8s", "kubernetes").replace("K8s", "Kubernetes").rpartition("__")
    return ([word.lower() for word in _WORD.findall(name)], [word.lower() for word in _WORD.findall(server)])


def findings(tool: str, verbs: list[str], server: list[str], given: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the findings about a call by the words of its tool and by its plain fields."""
    if _writes_to_many(words_of(tool)[1], verbs, given):
        yield _in_others_hands("message.many", tool, "write to many people at once")
    if _weakens(verbs, given):
        yield _weakening(tool)
    if _changes_production(verbs, given):
        yield _in_others_hands("tools.mcp-production", tool, "change what is in production")
    tried = for_trial(given) or in_test_mode(given)
    looks = not _LOOKS.isdisjoint(verbs[:1])
    told = "" if tried or looks else _told(verbs, server, given)
    for row in _STATES if not looks and not told else ():  # a check that is named `test` or `ci` is none for trial
        told = told or (row.what if not row.things.isdisjoint(verbs) and _states(row, given) else "")
    if told:
        yield _in_others_hands("tools.mcp-shared", tool, told)
    if not _SECRETS.isdisjoint(verbs) and not _SHOWS.isdisjoint(verbs):
        yield Finding(
            "secrets.show",
            levels.CARE,
            "shows a secret, which then stands in the conversation",
            "Let the program that needs it read it itself.",
            effect=effect("secret_read", f"calls {tool}", target=tool),
        )
    if _publishes_people(verbs, given):
        yield sent_secret("publishes data of people for all to read", "Make up the data, or keep it here.")
    if _opens_to_all(verbs, given):
        yield _in_others_hands("tools.mcp-opens", tool, "show something to everybody, or to hand on all that comes in")
    if _opens_network(verbs, given):
        yield _in_others_hands("cloud.open", tool, "open something to everybody on the internet")
    if (
        not destroys_shared(tool)
        and not is_dry(given)
        and (
            _loses_for_good(verbs, given)
            or (not tried and _asks_to_destroy(verbs, dict(islice(given.items(), MAX_FIELDS))))
        )
    ):
        yield destroying(tool)


def groups_of(value: object, depth: int = 0) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the fields of a call, and those within them, with how deep they are; of what is too deep the first."""
    if isinstance(value, Mapping):
        yield depth, value
        value = list(value.values())
    if isinstance(value, (list, tuple)) and depth <= MAX_DEPTH:
        for each in value:
            if not isinstance(each, _PLAIN):
                yield from groups_of(each, depth + 1)


_OPERATIONS = ("operation", "action", "method", "api", "verb", "operation_name", "operationname")
_KINDS = ("kind", "resource_type", "resourcetype", "resource", "type", "object_type", "entity")


_SECRETS = frozenset({"secret", "secrets", "password", "passwords", "credential", "credentials"})
_SHOWS = frozenset({"get", "read", "reveal", "retrieve", "fetch", "export", "show", "decrypt"})


class _Told(NamedTuple):
    """Tools that do something with what others use or see: by a verb, a thing, and a server if any is named."""

    what: str
    verbs: frozenset[str]
    things: frozenset[str]
    servers: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GIVES = _words("add create invite grant attach assign put give authorize generate issue set update enable")
_TELLS = (
    _Told(
        "give somebody access to what others use",
        _GIVES,
        _words("collaborator collaborators admin admins owner owners superuser sudo webhook webhooks hook iam binding"),
    ),
    _Told(
        "give somebody access to what others use",
        _words("attach grant assign put"),
        _words("policy role permission permissions privilege privileges access"),
    ),
    _Told(
        "invite somebody to what others use",
        _words("invite add"),
        _words("organization org workspace tenant billing enterprise"),
    ),
    _Told(
        "change names that others look up",
        _words("create update delete upsert set edit change put add import transfer"),
        _words("dns nameserver nameservers record records"),
        _words("dns route53 cloudflare namecheap godaddy porkbun dnsimple route 53 domains gandi"),
    ),
    _Told(
        "change names that others look up",
        _words("create update upsert set edit change put add import transfer"),
        _words("dns nameserver nameservers"),
    ),
    _Told(
        "publish something for all to read",
        _words("publish tweet retweet"),
        _words(
            "package packages npm pypi crate gem module version release app extension plugin article post page site theme tweet draft image docs video episode story reel listing"
        ),
    ),
    _Told(
        "publish something for all to read",
        _words("post create publish reply tweet upload send share quote repost comment submit"),
        _words(
            "post tweet thread status reel story video photo article comment reply message submission toot skeet update content image"
        ),
        _words(
            "twitter x linkedin facebook instagram reddit mastodon bluesky youtube tiktok medium threads hackernews producthunt devto"
        ),
    ),
    _Told(
        "change many things at once",
        _words("bulk mass"),
        _words(
            "update edit upsert import close assign transition move change modify patch set email tag enroll invite"
        ),
    ),
    _Told(
        "change what customers pay or get",
        _words("update set create change edit put adjust issue apply"),
        _words("price prices pricing discount coupon inventory stock gift giftcard credit refund tax shipping payout"),
        _words(
            "shopify woocommerce magento bigcommerce square amazon ebay etsy store shop stripe chargebee recurly paddle commerce squarespace wix"
        ),
    ),
    _Told(
        "approve what a person is to look at",
        _words("approve"),
        _words("pull request pr mr merge review deployment deploy run workflow change access expense release gate"),
    ),
    _Told(
        "quiet an alarm that called a person",
        _words("resolve acknowledge ack close silence snooze suppress"),
        _words("incident incidents alert alerts alarm alarms"),
    ),
    _Told(
        "reset the login of somebody else",
        _words("reset set change"),
        _words("password passwords mfa credentials"),
    ),
    _Told(
        "work a device that keeps people safe",
        _words("unlock disarm open release override"),
        _words("door lock garage gate alarm valve safe vault barrier camera breaker"),
    ),
)
"""Verbs and things of such tools; both must be there."""


class _Stated(NamedTuple):
    """Tools that say in a field what a person says: by a thing of their name, and the field with its value."""

    what: str
    things: frozenset[str]
    fields: frozenset[str]
    values: frozenset[str]


_STATES = (
    _Stated(
        "approve in the name of a person",
        _words("review reviews pull request pr mr merge approval approvals deployment deployments vote"),
        _words("event state vote decision verdict action"),
        _words("approve approved approval +2 10"),  # 10 is how Azure says it
    ),
    _Stated(
        "approve in the name of a person",
        _words("transition"),
        _words("transition status name"),
        _words("approve approved"),
    ),
    _Stated(
        "say that checks have passed",
        _words("status statuses check checks"),
        _words("state conclusion"),
        _words("success successful passed succeeded"),
    ),
    _Stated(
        "quiet an alarm that called a person",
        _words("incident incidents alert alerts alarm alarms"),
        _words("status state action"),
        _words("resolved resolve closed close acknowledged acknowledge muted silenced ignored snoozed"),
    ),
)
_KEYS_OF = _words("access deploy ssh api signing service account gpg personal master session")
_RANKS = frozenset(
    {
        "admin",
        "owner",
        "maintain",
        "superuser",
        "root",
        "administrator",
        "full_access",
        "fullaccess",
        "roles/owner",
        "roles/editor",
        "organizer",
        "superadmin",
        "super_admin",
        "global_admin",
    }
)
_RANKED = (
    "permission",
    "permissions",
    "role",
    "roles",
    "level",
    "access_level",
    "accesslevel",
    "access",
    "privilege",
    "is_admin",
    "isadmin",
    "role_name",
)
_PEOPLE = _words(
    "user users member members membership memberships team teams collaborator role roles permission permissions account accounts access group groups organization org person principal grant invite invitation share acl"
)
_ANYWHERE = re.compile(r"(?:0\.0\.0\.0|::)/0\Z")
_SERVES = re.compile(r"(?:lock\.unlock|lock\.open|alarm_control_panel\.alarm_disarm|cover\.open\w*|valve\.open\w*)\Z")


def _told(verbs: list[str], server: list[str], given: Mapping[str, Any]) -> str:
    """Return what a tool is asked to do with what others use or see, as a phrase; empty if it is nothing."""
    for row in _TELLS:
        named = not row.servers or not row.servers.isdisjoint(server)
        if named and not row.verbs.isdisjoint(verbs) and not row.things.isdisjoint(verbs):
            own = any(isinstance(value, str) and _OWN_ADDRESS.search(value) for value in _values(given))
            if not (own and "webhook" in verbs):
                return row.what
    if not _TELEPHONES.isdisjoint({*verbs, *server}) and not _PUTS_THROUGH.isdisjoint(verbs) and _to_telephone(given):
        return "write to or call a person by telephone"
    changes = not _GIVES.isdisjoint(verbs) or not _CHANGES.isdisjoint(verbs)
    if changes and {"key", "keys", "token", "tokens"} & {*verbs} and not _KEYS_OF.isdisjoint(verbs):
        return "make a key by which others get in"
    if changes and any(isinstance(value, str) and _ANYWHERE.match(value) for value in _values(given)):
        return "let everybody reach what stands behind a firewall"
    for _, fields in islice(groups_of(given), 20) if changes and not _PEOPLE.isdisjoint(verbs) else ():
        said = {str(name).lower(): value for name, value in islice(fields.items(), MAX_NAMED)}
        for value in (said[name] for name in _RANKED if name in said):
            each = value if isinstance(value, (list, tuple)) else [value]
            if any(isinstance(one, str) and one.lower() in _RANKS for one in each[:MAX_NAMED]):
                return "give somebody the highest rights"
    service = f"{given.get('domain', '')}.{given.get('service', '')}"
    return "work a device that keeps people safe" if _SERVES.match(service.lower()[:100]) else ""


def _states(row: _Stated, given: Mapping[str, Any]) -> bool:
    """Whether one of the fields of the row has one of its values, in the call or in a group within it."""
    for _, fields in islice(groups_of(given), 20):
        for name, value in islice(fields.items(), MAX_NAMED):
            if str(name).lower() in row.fields and _plain_text(value) in row.values:
                return True
    return False


def _plain_text(value: object) -> str:
    """Return a text or a number as it is compared; empty for all else."""
    plain = isinstance(value, (str, int)) and not isinstance(value, bool)
    return str(value)[:MAX_NAMED].strip().lower() if plain else ""


_TELEPHONES = _listed("telephones") | {"sms", "mms", "imessage", "voice", "call"}
_PUTS_THROUGH = _words("send create make place start initiate dial text")


def _to_telephone(given: Mapping[str, Any]) -> bool:
    """Whether a call names a telephone that is none of a provider's for trial."""
    said = [one for _, fields in islice(groups_of(given), 20) for one in islice(fields.items(), MAX_NAMED)]
    for name, value in said:
        each = value[:MAX_NAMED] if isinstance(value, (list, tuple)) else [value]
        if str(name).lower() in _RECIPIENTS and any(isinstance(one, str) and is_telephone(one) for one in each):
            return True
    return False


_OWN_ADDRESS = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])")


def _values(given: Mapping[str, Any]) -> Iterator[object]:
    """Yield the plain values of a call and of the groups within it."""
    for _, fields in islice(groups_of(given), 20):
        for value in islice(fields.values(), MAX_NAMED):
            yield from islice(value, MAX_NAMED) if isinstance(value, (list, tuple)) else (value,)


def _asks_to_destroy(verbs: list[str], given: Mapping[str, Any]) -> bool:
    """Whether a field says what the name does not: the operation of a tool for all, or the kind of what is deleted."""
    said = {str(name).lower(): value for name, value in given.items() if isinstance(value, str) and len(value) <= 100}
    operation = next((said[name] for name in _OPERATIONS if name in said), "")
    if operation and destroys_shared(f"mcp__x__{operation}"):
        return True
    kinds = {word.lower() for name in _KINDS if name in said for word in _WORD.findall(said[name])}
    return bool(DELETES.intersection([*verbs, *words_of(f"mcp__x__{operation}")[0]])) and bool(_SHARED & kinds)


_GUARDS = frozenset({"protection", "protections", "ruleset", "rulesets", "mfa", "2fa", "totp", "firewall", "waf", "encryption", "versioning", "audit", "retention", "guardrail", "guardrails", "lock", "locks", "protected"})  # fmt: skip
"""Things that keep others from harm."""
_TURNS_OFF = frozenset({"disable", "delete", "remove", "bypass", "suspend", "unlock", "off"})
_CHANGES = frozenset({"update", "set", "alter", "edit", "modify", "change", "configure", "put", "patch", "toggle"})
_OFF = (False, None, 0, "", "off", "disabled", "none", "false", "no", "suspended")


_LETS = re.compile(
    r"(?:allow|bypass|skip|disable|ignore|permit)(?=_|[A-Z])|.*(?:_|(?<=[a-z])(?=[A-Z]))(?:disabled|Disabled|bypass|Bypass)\Z"
)
"""Beginnings and ends of the names of fields that let through what a protection keeps out."""


_KEPT_SAFE = (
    "deletion_protection",
    "deletionProtection",
    "DeletionProtection",
    "termination_protection",
    "disable_api_termination",
    "point_in_time_recovery",
    "backups_enabled",
    "versioning_enabled",
    "encryption_enabled",
    "ssl_enforced",
    "require_ssl",
    "audit_logging",
)
"""Fields that keep a resource from loss; as false they leave it open to that."""


def _weakens(verbs: list[str], given: Mapping[str, Any]) -> bool:
    """Whether the tool takes a protection away: by its verb, because it is given one as off, or is to let things by."""
    changes = not _CHANGES.isdisjoint(verbs)
    if changes and any(given.get(name) is False for name in _KEPT_SAFE):
        return True
    if _GUARDS.isdisjoint(verbs):
        return False
    said = [one for _, fields in islice(groups_of(given), 20) for one in islice(fields.items(), MAX_NAMED)]
    if changes and any(value is True and _LETS.match(str(name)) for name, value in said):
        return True
    values = [value for name, value in islice(given.items(), MAX_FIELDS) if not _LETS.match(str(name))]
    off = any(isinstance(value, _PLAIN) and value in _OFF for value in values)
    off = off and not any(value is True or isinstance(value, Mapping) for value in values)
    return not _TURNS_OFF.isdisjoint(verbs) or (off and changes)


_FOR_GOOD = frozenset({"permanent", "permanently", "skip_trash", "skiptrash", "hard_delete", "harddelete", "bypass_trash", "purge"})  # fmt: skip
_PUTS_AWAY = ("archived", "is_archived", "in_trash", "trashed", "deleted", "is_deleted", "discard", "discarded")
"""Fields that as true put away what the tool changes."""
_FILTERS = ("query", "filter", "q", "where", "selector", "search", "pattern", "criteria")
_EVERYTHING = re.compile(r"\s*+(?:\*|\.\*|%|all|\{\s*\}|1\s*=\s*1|true|in:\s*(?:anywhere|all|inbox)|is:\s*any)?\s*+\Z")


def _loses_for_good(verbs: list[str], given: Mapping[str, Any]) -> bool:
    """Whether the tool deletes past what would bring it back, or all that there is, or by a field puts a thing away."""
    if DELETES.isdisjoint(verbs):
        aside = not _ALTERS.isdisjoint(verbs) and _PUT_ASIDE.isdisjoint(verbs)
        return aside and any(given.get(name) is True for name in _PUTS_AWAY) and not for_trial(given)
    said = {str(name).lower(): value for name, value in islice(given.items(), MAX_FIELDS)}
    if any(said.get(name) is True for name in _FOR_GOOD):
        return True
    return any(
        isinstance(said.get(name), str) and _EVERYTHING.match(said[name][:100].lower()) is not None for name in _FILTERS
    )


_SMALL = frozenset({"label", "labels", "reaction", "reactions", "comment", "draft", "drafts", "tab", "tabs", "breakpoint", "bookmark", "memory", "memories", "entity", "entities", "observation", "observations", "relation", "relations", "assignee", "assignees", "reviewer", "reviewers", "cache", "cell", "cells", "session", "todo", "todos", "element", "highlight", "watcher", "cookie", "cookies", "node", "nodes", "layer", "shape", "frame", "row", "column", "tmp", "temp", "test", "preview", "mock", "breakpoints", "dependency", "dependencies", "import", "imports", "line", "lines", "block_cache"})  # fmt: skip
"""Things that are quickly made again, or an agent's own."""
_OWN_SERVERS = frozenset({"memory", "scratch", "scratchpad", "todo", "local", "ide", "lsp", "serena", "browser", "playwright", "puppeteer", "filesystem", "fs", "editor", "sqlite", "knowledge"})  # fmt: skip
"""Servers that keep what is an agent's own, or judged by its path or its statements."""
_PUT_ASIDE = frozenset({"email", "emails", "mail", "message", "messages", "thread", "threads", "note", "notes", "issue", "task", "card", "item", "conversation"})  # fmt: skip
"""Things that are archived every day, and found again where they are archived."""
_PUT_BY = re.compile(r"(?:\A|[-_./: ])(?:cache|draft)(?:\Z|[-_./: \d])", re.IGNORECASE)
"""Names of what is made again, or of what others have not seen."""
_REMOTE = frozenset({"owner", "repo", "repository", "branch", "bucket", "project", "project_id", "workspace_id"})


def is_dry(given: Mapping[str, Any]) -> bool:
    """Whether a call, or a group of fields within it, asks only what would be done."""
    return any(
        value is True and str(name).lower().replace("_", "").replace("-", "") == "dryrun"
        for _, fields in islice(groups_of(given), 20)
        for name, value in islice(fields.items(), MAX_NAMED)
    )


def of_trial(server: list[str]) -> bool:
    """Whether the name of a server, by its words, says that it is one for tests."""
    text = "_".join(server)
    return TRIAL.search(text) is not None and not _PRODUCTION.search(text)


def leaves(tool: str) -> bool:
    """Whether what a tool is given is taken to another machine, by its server's name."""
    return _OWN_SERVERS.isdisjoint(words_of(tool)[1])


def for_trial(given: Mapping[str, Any]) -> bool:
    """Whether one of the fields of a call says that it is about what is for tests, or that nothing is to be done."""
    if is_dry(given):
        return True
    texts = (
        (value.rpartition("/")[0] or value) if str(name).lower() in PATHS else value  # a file's own name is no scope
        for name, value in islice(given.items(), MAX_FIELDS)
        if isinstance(value, str) and len(value) <= 100
    )
    return at_hand(given) or any(
        (TRIAL.search(value) or _PUT_BY.search(value)) and not _PRODUCTION.search(value) for value in texts
    )


def at_hand(given: Mapping[str, Any]) -> bool:
    """Whether one of the fields of a call names a cluster, or a telephone, that is a program of this machine."""
    return any(isinstance(value, str) and AT_HAND.match(value) for value in islice(given.values(), MAX_FIELDS))


def in_test_mode(given: Mapping[str, Any]) -> bool:
    """Whether the fields of a call say that no money is moved: a key or a mode for tests."""
    said = dict(islice(given.items(), MAX_NAMED))
    if said.get("livemode") is False or said.get("test_mode") is True or said.get("testmode") is True:
        return True
    return any(isinstance(value, str) and re.match(r"[sr]k_test_|sandbox\Z", value) for value in said.values())


def takes_from_others(tool: str, given: Mapping[str, Any]) -> bool:
    """Whether a tool that takes something away takes what others have: no trifle, no trial, and no file at hand."""
    verbs, server = words_of(tool)
    if not _SMALL.isdisjoint(verbs) or not _OWN_SERVERS.isdisjoint(server):
        return False
    if "merge" in verbs and DELETES.isdisjoint(verbs) and {"pull", "request", "pr", "mr", "branch"}.isdisjoint(verbs):
        return False
    if "archive" in verbs and not _PUT_ASIDE.isdisjoint(verbs):
        return False
    said = {str(name).lower() for name in islice(given, MAX_FIELDS)}
    if for_trial(given):
        return False
    return PATHS.isdisjoint(said) or not _REMOTE.isdisjoint(said)


_ENVIRONMENTS = frozenset({"environment", "env", "stage", "target", "context", "cluster", "namespace", "workspace", "deployment_environment", "tier", "production", "prod"})  # fmt: skip
_DEPLOYS = frozenset({"deploy", "promote", "publish", "release", "run", "apply", "scale", "restart", "rollback", "trigger", "dispatch", "redeploy", "upgrade", "migrate", "patch", "pause", "sync", "start", "stop", "execute", "install"})  # fmt: skip
_TURNS = frozenset({"update", "set", "toggle", "enable", "disable", "turn", "modify", "edit", "put", "create", "add", "write"})  # fmt: skip
_PRODUCTION = re.compile(r"(?:\A|[-_./:=])(?:prod|production)(?:\Z|[-_./:])", re.IGNORECASE)


_TRACKED = frozenset({"page", "issue", "ticket", "task", "record", "comment", "block", "note", "card", "document", "doc", "message", "pull", "request", "pr", "epic", "story", "event", "annotation", "row", "incident"})  # fmt: skip
"""Things that say something of production and are none."""


def _changes_production(verbs: list[str], given: Mapping[str, Any]) -> bool:
    """Whether a tool changes what is in production, by its name, its environment or a short name among its fields."""
    if (
        not _TRACKED.isdisjoint(verbs)
        or not _LOOKS.isdisjoint(verbs[:1])
        or given.get("dry_run") is True
        or given.get("dryRun") is True
    ):
        return False
    deploys = not _DEPLOYS.isdisjoint(verbs)
    if deploys and not {"prod", "production"}.isdisjoint(verbs):
        return True
    for _, fields in islice(groups_of(given), 20):
        for name, value in islice(fields.items(), MAX_NAMED):
            stated = str(name).lower() in _ENVIRONMENTS
            changes = deploys or (stated and not _TURNS.isdisjoint(verbs))
            short = isinstance(value, str) and len(value) <= 60 and " " not in value
            if changes and short and _PRODUCTION.search(value):
                return True
    return False


MAX_NAMED = 100
"""Most fields of a group that are looked at for the name of an environment."""
_AUDIENCE = frozenset({"type", "scope", "visibility", "access", "acl", "audience", "sharing", "principal", "grantee", "link_access", "who", "role_type", "permission"})  # fmt: skip
_EVERYBODY = frozenset({"anyone", "public", "anyone_with_link", "anyonewithlink", "public-read", "public-read-write", "everyone", "allusers", "world", "*"})  # fmt: skip
_OPENS = frozenset({"share", "permission", "permissions", "acl", "link", "policy", "publish", "visibility", "access", "sharing", "expose"})  # fmt: skip
_ALTERS = frozenset({"update", "edit", "set", "change", "modify", "patch", "configure", "make"})  # fmt: skip
_SHOWN = (
    "private",
    "is_private",
    "isPrivate",
    "restricted",
    "requires_auth",
    "authentication_required",
    "password_protected",
    "block_public_access",
    "public_access_block",
)
"""Fields that keep something from others; as false they show it to everybody."""
_COPIES = frozenset({"create", "import", "fork", "mirror", "clone", "copy", "duplicate"})
_COPIED = ("source", "source_repo", "template", "from", "fork_of", "mirror_of", "import_url", "clone_url", "clone_addr", "vcs_url", "copy_of", "parent")  # fmt: skip
"""Fields by which a thing that is made is a copy of another one."""
_FORWARDS = frozenset({"forward", "forward_to", "forwardto", "redirect", "redirect_to", "forwarding_address", "forwardingaddress"})  # fmt: skip


def _opens_to_all(verbs: list[str], given: Mapping[str, Any]) -> bool:
    """Whether a tool shows something to everybody, or has all later mail go to another address."""
    if not _LOOKS.isdisjoint(verbs[:1]):
        return False
    opens = not (_OPENS | _ALTERS).isdisjoint(verbs)
    copies = not _COPIES.isdisjoint(verbs) and any(name in given for name in _COPIED)
    if (copies or not _ALTERS.isdisjoint(verbs)) and any(given.get(name) is False for name in _SHOWN):
        return True
    for _, fields in islice(groups_of(given), 20):
        said = {str(name).lower(): value for name, value in islice(fields.items(), MAX_NAMED)}
        if opens and any(str(said.get(name)).lower() in _EVERYBODY for name in _AUDIENCE if name in said):
            return True
        if any(isinstance(said.get(name), str) and "@" in said[name] for name in _FORWARDS) and _MAILS & set(verbs):
            return True
    return False


_ALL_ADDRESSES = frozenset({"0.0.0.0/0", "::/0"})
_LEADS_OUT = frozenset({"route", "routes", "egress", "outbound", "revoke", "delete", "remove", "deny"})
_ANY_PRINCIPAL = re.compile(
    r"\"principal\"\s{0,5}:\s{0,5}(?:\{\s{0,5}\"aws\"\s{0,5}:\s{0,5})?\[?\s{0,5}\"\*\"", re.IGNORECASE
)
"""A policy of a cloud that is for any caller."""


def _opens_network(verbs: list[str], given: Mapping[str, Any]) -> bool:
    """Whether a tool lets in any caller: all addresses as a field of their own, or a policy for any principal."""
    if not _LOOKS.isdisjoint(verbs[:1]) or not (_LEADS_OUT | _TRACKED).isdisjoint(verbs):
        return False
    for _, fields in islice(groups_of(given), 20):
        for value in islice(fields.values(), MAX_NAMED):
            each = value[:MAX_NAMED] if isinstance(value, (list, tuple)) else [value]
            if any(isinstance(one, str) and one.strip() in _ALL_ADDRESSES for one in each):
                return True
            if isinstance(value, str) and "policy" in verbs and _ANY_PRINCIPAL.search(value[:MAX_TEXT]):
                return True
    return False


_PUT_UP = frozenset({"gist", "gists", "paste", "pastebin", "snippet", "snippets"})


def _publishes_people(verbs: list[str], given: Mapping[str, Any]) -> bool:
    """Whether a tool shows everybody a table with fields of what only a person may know, and addresses in it."""
    if _PUT_UP.isdisjoint(verbs) or not (given.get("public") is True or given.get("visibility") == "public"):
        return False
    texts = (value[:MAX_TEXT] for value in _values(given) if isinstance(value, str))
    return any("@" in text and PERSONAL.search(text.partition("\n")[0][:500]) for text in texts)


_MAILS = frozenset({"filter", "filters", "rule", "rules", "forwarding", "settings", "inbox"})
_SENDS = _listed("writes") | {"invite", "broadcast", "campaign"}
_TO_ALL = _listed("bulk")
_RECIPIENTS = _listed("recipients") | {"to_emails", "emails", "to_addresses", "users", "attendees", "phone_numbers", "numbers", "segment", "audience", "list_id", "channel_id"}  # fmt: skip
MANY = 10
"""People from which on a message is one to many."""


def _writes_to_many(server: list[str], verbs: list[str], given: Mapping[str, Any]) -> bool:
    """Whether a tool sends a message to a list, or to an address or a channel that everybody reads."""
    if not _LOOKS.isdisjoint(verbs[:1]) or "draft" in verbs or not _CATCHERS.isdisjoint(server):
        return False
    said = [one for _, fields in islice(groups_of(given), 20) for one in islice(fields.items(), MAX_NAMED)]
    if any(str(name).lower() in _SEGMENTS and value for name, value in said) and not _PUTS.isdisjoint(verbs):
        return True
    if not _PUBLIC.isdisjoint({*server, *verbs}) and not (_PUTS | {"tweet", "share", "upload", "reply"}).isdisjoint(
        verbs[:2]
    ):
        return True
    if not _CAMPAIGNS.isdisjoint(verbs) and not _STARTS.isdisjoint(verbs):
        return True
    if _WRITES_TO.isdisjoint(verbs):
        return False
    for name, value in said:
        if str(name).lower() in _RECIPIENTS | {"type"}:
            parted = re.split(r"[,;]", value[:MAX_TEXT]) if isinstance(value, str) else value
            each = parted if isinstance(parted, (list, tuple)) else []
            texts = [one[:200] for one in each[:MAX_FIELDS] if isinstance(one, str)]
            many = MANY_PHONES if texts and all(map(_PHONE.match, texts)) else MANY
            if len(each) >= many or any(EVERY_ONE.match(one) or one.strip() in _SCOPES for one in texts):
                return True
    return any(isinstance(value, str) and MENTIONS.search(value[:MAX_TEXT]) for value in given.values())


MANY_PHONES = 3
"""The same of telephones: no task calls three people at once."""
_PHONE = re.compile(r"\s*\+?\d[\d -]{6,18}\Z")
_CATCHERS = _listed("catchers") | {"local"}
"""Servers that catch mail for tests."""
_PUBLIC = _listed("public")
"""Places where any user reads what is put there in the name of a person or a company."""
_SEGMENTS = _listed("segments")
_SCOPES = frozenset({"all_users", "all_contacts", "all_customers", "all_members"})
_PUTS = frozenset({"create", "send", "publish", "schedule", "post", "push", "trigger"})
_CAMPAIGNS = _listed("campaigns") | {"single"}
_STARTS = _listed("starts")
_WRITES_TO = _listed("writes") | {"post", "broadcast", "campaign", "text", "dm", "blast"}
_HALTS = frozenset({"pause", "suspend", "mute", "silence", "shutdown", "hibernate"})
_WATCHES = frozenset({"monitor", "monitors", "alert", "alerts", "alarm", "alarms", "alerting", "check", "checks"})
_ALL_AT_ONCE = frozenset({"refund", "cancel", "stop", "reset", "resolve", "close", "acknowledge", "archive", "approve", "dismiss", "disable"})  # fmt: skip


def destroys_shared(tool: str) -> bool:
    """Whether the tool's name says that it takes something away that others use, or halts it."""
    verbs, server = words_of(tool)
    if _HALTS.intersection(verbs) and (_SHARED | _WATCHES).intersection(verbs):
        return True
    if verbs[:1] and verbs[0] not in _LOOKS | WRITES and _SENDS.intersection(verbs) and _TO_ALL.intersection(verbs):
        return True
    if {"disable", "delete", "remove"}.intersection(verbs) and _WATCHES.intersection(verbs):
        return True
    if "reset" in verbs and "branch" in verbs and "git" not in server:
        return True
    if "reset" in verbs and {"pg", "db", "database", "project", "all"}.intersection(verbs):
        return True
    if _MONEY.intersection(verbs) and not _LOOKS.intersection(verbs):
        return True
    if not _PAYERS.isdisjoint(server) and not _PAYS.isdisjoint(verbs[:2]) and not _FUNDS.isdisjoint(verbs):
        return True
    if "cancel" in verbs and {"subscription", "subscriptions"}.intersection(verbs):
        return True
    if not DELETES.intersection(verbs):
        return "all" in verbs and bool(_ALL_AT_ONCE.intersection(verbs))
    return bool(_SHARED.intersection(verbs)) or bool(
        {"destroy", "purge", "wipe", "terminate", "nuke"}.intersection(verbs)
    )


def _in_others_hands(rule: str, tool: str, what: str) -> Finding:
    return Finding(
        rule,
        levels.HARM,
        f"asks {tool} to {what}",
        "Prepare it, and let a person do it.",
        effect=effect("tool_call", f"calls {tool}, to {what}", target=tool),
    )


def _weakening(tool: str) -> Finding:
    return Finding(
        "tools.mcp-weakens",
        levels.HARM,
        f"asks {tool} to take away what protects something that others use",
        "Let a person change what protects it.",
        effect=effect("tool_call", f"calls {tool}, which takes a protection away", target=tool),
    )


def destroying(tool: str) -> Finding:
    """Return the finding for a tool that takes away what others use."""
    return Finding(
        "tools.mcp-destroys",
        levels.HARM,
        f"asks {tool} to take away something that others use",
        "Read first what would go, and let a person do it.",
        effect=effect("tool_call", f"calls {tool}, which takes something away", target=tool),
    )
