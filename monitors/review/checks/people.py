"""Messages to many people at once: by an address that everybody reads, a mention, a campaign, or each of a list.

One notion for programs, services asked over the web, and tools. What goes to a mail catcher, to a sandbox or to one
person is let be.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from monitors.contract.expressions import later, up_to_next
from monitors.review.knowledge.book import PEOPLE
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.shell.invocation import Arg, Invocation

EVERY_ONE = re.compile(
    rf"[\s#@<\"']*(?:all[-_. ]?(?:{PEOPLE['all-of']})|{PEOPLE['everyone']})(?:@[\w.-]+)?[\s>\"']*\Z",
    re.IGNORECASE,
)
"""Addresses and channels that everybody reads."""
MENTIONS = re.compile(r"<!(?:channel|everyone|here)>|(?<![\w/`])@(?:channel|everyone|here)\b(?![/`])")
"""Words of a message by which a chat calls all who are in a channel."""
TRIED = re.compile(
    rf"\blocalhost\b|\b127\.0\.0\.1\b|\[::1\]|:(?:1025|2525)\b|\b(?:{PEOPLE['catchers']})|[sr]k_test|_test_key|test_key\b|stripe_test|\+?1500555\d{{4}}\b.*\+?1500555\d{{4}}\b",
    re.IGNORECASE,
)
"""Marks of a server that catches mail, of a sandbox, or of a key for trials."""
_TELEPHONE = re.compile(
    r"[\s\"']{0,3}(?:whatsapp:|tel:|sms:)?(?:\+|00)(?!1500555|1[ (-]{0,2}\d{3}[ )-]{0,2}555[ -]?01)\d[\d ()-]{6,18}[\s\"']{0,3}\Z"
)
"""The number of a telephone, but for those that a provider keeps for trial, and those that films have: 555-01xx."""


def is_telephone(text: str) -> bool:
    """Whether a text is the number of a person's telephone."""
    return _TELEPHONE.match(text) is not None


_ASKS = frozenset({"curl", "wget", "http", "https", "xh", "xhs", "curlie"})
_CHATS = re.compile(
    r"slack\.com|discord(?:app)?\.com|webhook\.office\.com|chat\.googleapis\.com|mattermost|rocket\.chat|zulip|telegram\.org|\$\{?\w{0,30}(?:SLACK|DISCORD|TEAMS|CHAT|WEBHOOK)\w{0,30}",
    re.IGNORECASE,
)
MAX_URL = 2_000
"""Most characters of an address that are looked at."""
_IN_URL = r"[^\s\"']"


def _at(host: str) -> str:
    return up_to_next(host, _IN_URL, MAX_URL)


_CAMPAIGNS = re.compile(
    f"(?>{_at('https?://')}/(?:email)?(?:{PEOPLE['campaigns']})/)(?:(?!https?://){_IN_URL}){{0,{MAX_URL}}}?(?:{PEOPLE['starts']})|"
    r"[\"']?included_segments[\"']?|[\"']topic[\"']\s*:\s*[\"'](?:all|everyone|users|news)|/users/push|messages:sendAll|/broadcast(?:s)?(?:[\"'\s]|\Z)|/api/v1/statuses|com\.atproto\.repo\.createRecord|oauth\.reddit\.com/api/submit|"
    + _at(r"api\.(?:twitter|x)\.com/")
    + "tweets|"
    + _at(r"graph\.facebook\.com/")
    + "/(?:feed|photos|media_publish)|"
    + _at(r"api\.linkedin\.com/")
    + "(?:ugcPosts|/posts|shares)",
    re.IGNORECASE,
)
"""How services for mail and notices are told to write to a whole list."""
_TO_ALL = re.compile(
    rf"(?:\A|[-_:/.])(?:{PEOPLE['everyone']}|customer)(?:\Z|[-_:/.])",
    re.IGNORECASE,
)
_CLIENTS = frozenset(PEOPLE["clients"].split("|"))
_WRITES = re.compile(PEOPLE["writes"], re.IGNORECASE)
_SAYS_TO = re.compile(r"--?(?:to|to-addresses|recipients?|phone|phone-number|destination|email|t)(?:=|\Z)")
MAILERS = frozenset(PEOPLE["mailers"].split("|"))
"""Programs that send mail to addresses among their words."""


_FORGES = frozenset({"gh", "glab"})
"""Clients of forges, where those who follow an issue or a request are told of each word."""
PROGRAMS = _ASKS | _CLIENTS | MAILERS | _FORGES | {"slack", "slackcat", "discord"}
"""Programs that write to people, or ask a service that does."""
SCRIPTS = later(r"(?:send|mail|email|sms|notify|push|blast|broadcast|remind)[\w-]{0,40}\.(?:py|js|mjs|ts|rb|php|sh)\Z")
"""Names of scripts that write to people."""
RUNNERS = frozenset({"python", "python3", "node", "ruby", "php", "bash", "sh", "tsx", "bun", "deno"})
"""Programs that run scripts."""


def check(invocation: Invocation) -> Iterator[Finding]:
    """Look for a message that reaches many at once."""
    if invocation.name not in PROGRAMS:
        return
    text = " ".join(invocation.args)[:8_000]
    if TRIED.search(text):
        return
    if _reaches_many(invocation, text):
        yield to_many("writes to many people at once")
    elif _by_telephone(invocation):
        yield replace(to_many("writes to or calls a person by telephone"), rule="message.telephone")


def _reaches_many(invocation: Invocation, text: str) -> bool:
    name, words = invocation.name, invocation.args
    if name in _ASKS:
        sends = any(
            word[:2] in ("-d", "-F", "-X") or word.startswith(("--data", "--json", "--form", "--request", "--post"))
            for word in words
        )
        sends = sends or any(word in ("POST", "PUT") for word in words[:3])
        if not sends or not {"-G", "--get"}.isdisjoint(words):
            return False
        said = any((to := _SAID.match(word)) and EVERY_ONE.match(word, to.end()) for word in words)
        return (
            (MENTIONS.search(text) is not None and _CHATS.search(text) is not None)
            or _CAMPAIGNS.search(text) is not None
            or said
        )
    if name in ("slack", "slackcat", "discord"):
        return MENTIONS.search(text) is not None
    if name in _CLIENTS and any(_TO_ALL.search(word.rpartition("=")[2]) for word in addressed(invocation)):
        return True
    if name == "aws":
        topic = next(
            (after for word, after in pairwise(words) if word in ("--topic-arn", "--target-arn")),
            "",
        )
        return "sns" in words[:4] and "publish" in words[:5] and _TO_ALL.search(topic.rpartition(":")[2]) is not None
    if name in MAILERS:
        return any(EVERY_ONE.match(word) for word in words if "@" in word and word[:1] != "-")
    return False


_OF_TELEPHONES = re.compile(rf"https?://[^\s/]{{0,100}}(?:{PEOPLE['telephones']})[^\s/]{{0,60}}/", re.IGNORECASE)


def _by_telephone(invocation: Invocation) -> bool:
    """Whether a client of a service, or a request to one, has a message or a call go to a person's telephone."""
    if invocation.name in _ASKS:
        if not any(map(_OF_TELEPHONES.search, filter(lambda word: "://" in word, invocation.args))):
            return False
        fields = (word.partition("=") for word in invocation.args)
        return any(is_telephone(value.replace("%2B", "+")) for name, _, value in fields if _SAID.match(f"{name}="))
    if invocation.name == "signal-cli":
        named = invocation.operands(("-u", "-a", "--account", "-m", "--message", "-g", "--group-id"))
        return named[:1] == ["send"] and any(map(is_telephone, named))
    said = (word.partition("=")[2] if word[:2] == "--" and "=" in word else word for word in addressed(invocation))
    return any(map(is_telephone, said))


_SAID = re.compile(rf"[\"'\s{{,]*(?:{PEOPLE['recipients']})[\"']?(?:=|:)[\"'\s]*", re.IGNORECASE)


_TALKS = frozenset({"comment", "create", "close", "note", "review", "reopen"})
_ENDS = frozenset({"close", "lock", "delete"})
"""Subcommands by which each of a list is ended, in a repository of one's own too."""
_NARROWS = re.compile(
    r"(?:--(?:label|author|assignee|search|milestone|app|head|mention|project)|-[lAaSm])(?:=|\Z)|.*\bselect\(|.*\btest\("
)
"""Options by which a list of issues or requests is one of certain ones."""
_NAMES_REPOSITORY = frozenset({"-R", "--repo"})


def addressed(invocation: Invocation) -> Iterator[Arg]:
    """Yield the words that say to whom a client of a service writes; none if it writes to no person."""
    if invocation.name in _FORGES and not _TALKS.isdisjoint(invocation.args[1:2]):
        named = [after for word, after in pairwise(invocation.args) if word in _NAMES_REPOSITORY]
        if named:  # else those are talked to who work on the folder's own
            words = (*invocation.args[2:3], *named)
            yield from (word for word in words if not any("view" in one.args[:2] for one in word.source))
        elif invocation.args[1:2] and invocation.args[1] in _ENDS:
            yield from (word for word in invocation.args[2:3] if not any(map(_narrowed, word.source)))
    if not _runs_mailer(invocation) and (
        invocation.name not in _CLIENTS or not any(map(_WRITES.search, invocation.args[:4]))
    ):
        return
    before = ""
    for word in invocation.args:
        if (_SAYS_TO.match(before) and "=" not in before) or (_SAYS_TO.match(word) and "=" in word):
            yield word
        before = word


def _narrowed(source: Invocation) -> bool:
    return any(map(_NARROWS.match, source.args)) or source.name in ("grep", "rg", "jq", "awk", "head", "tail", "fzf")


def _runs_mailer(invocation: Invocation) -> bool:
    """Whether a script is run that is named for writing to people, and not to try it."""
    script = invocation.program if invocation.name not in RUNNERS else next(iter(invocation.operands()), "")
    name = script.rpartition("/")[2]
    return SCRIPTS.match(name) is not None and _TRIES.isdisjoint(invocation.args)


_TRIES = frozenset({"--dry-run", "--dryrun", "-n", "--test", "--preview", "--sandbox", "--help"})


def to_many(why: str) -> Finding:
    """Return the finding for a message to many people."""
    return Finding(
        "message.many",
        levels.HARM,
        why,
        "Prepare it, and let a person send it.",
        effect=effect("message", why),
    )
