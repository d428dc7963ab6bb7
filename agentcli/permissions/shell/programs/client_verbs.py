"""Commands of a service's client that only read, by their structure: nouns, then a verb such as `list`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentcli.permissions.shell.programs.known_programs import CLIENTS, word_set

_READS = word_set(
    "list ls get show view status describe info log logs tail top ps version history search inspect explain diff events read"
)
_CHANGES = word_set("""
abort accept add allow annotate api apply approve assign associate attach authorize autoscale backup begin block build bulk call cancel change checkout
clear clone close commit complete config configure confirm connect console continue copy cordon cp create deallocate debug decline delete deny
deploy deregister destroy detach disable disassociate disconnect dispatch download drain dump edit eject enable end evict exec execute export expose fail
failover fork forward generate grant import init inject insert install invalidate invite invoke issue join keygen kill label leave link lock
login logout merge migrate modify move mv open pause patch pin post promote provision proxy publish purge push put reboot rebuild receive
recover redeploy refresh register reinstall reject release remove rename reopen replace rerun reset resize restart restore resume retry revert
revoke rm rollback rotate run scale schedule send set sign sleep ssh start stop store submit suspend swap switch sync taint tag
terminate transfer trigger truncate tunnel uncordon undelete undo unlink unlock unset untag update upgrade upload use wait watch write
""")
"""Words with which a command may change something, wherever they stand."""
_NOUNS = {"gcloud": frozenset({"run", "config"})}
"""Such words that are nouns of a client: its parts."""
_SECRET = re.compile(
    r"secret|token|passw|credential|private|decrypt|login|helper|kube-?config|(?:^|[-_:./])(?:auth|env|keys?|vars?)(?:$|[-_:./=])",
    re.IGNORECASE,
)
_OPTION = re.compile(r"-[A-Za-z]|--[a-z][a-z-]*")
_STEERING = re.compile(
    r"exec|command|plugin|endpoint|proxy|url|server|host|config|file|dir|path|cert|insecure|impersonate|editor|web|open|debug|trace|http|\bas\b"
)
"""Parts of an option's name with which it may start a program, write a file, or talk to another server."""
_NOUN = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_VALUE = re.compile(r"(?!.*(?:^|=)(?:[@/~]|\.{1,2}/))(?!\w*https?:|file:|.*-file=).*", re.DOTALL)
"""Values that name neither a file nor a server."""
_MOST_NOUNS = 3
"""Maximum words before the verb."""


def reads_with(words: Sequence[str]) -> str:
    """Return the client that only reads from its service, with the person's login; empty for any other command."""
    name, *arguments = words
    if name not in CLIENTS or any(_SECRET.search(word) for word in arguments):
        return ""
    options = [word.partition("=") for word in arguments if word.startswith("-")]
    if not all(_OPTION.fullmatch(option) and not _STEERING.search(option) for option, _, _ in options):
        return ""
    operands = [word for word in arguments if not word.startswith("-")]
    values = (*operands, *(value for _, _, value in options))
    changes = _CHANGES - _NOUNS.get(name, frozenset())
    plain = all(map(_VALUE.fullmatch, values)) and not any(_is_one_of(changes, word) for word in operands)
    return name if plain and _has_verb(arguments) else ""


def _is_one_of(verbs: frozenset[str], word: str) -> bool:
    """Return True if a word is, begins or ends with one of these verbs: `list-objects`, `apps:list`, `item-list`."""
    parts = re.split(r"[-:]", word.lower())
    return parts[0] in verbs or parts[-1] in verbs


def _has_verb(arguments: Sequence[str]) -> bool:
    """Return True if there is a verb that reads, behind nouns only."""
    nouns = 0
    for index, word in enumerate(arguments):
        if word.startswith("-"):
            continue
        # Behind an option, it may be the option's value.
        of_option = index > 0 and arguments[index - 1].startswith("-") and "=" not in arguments[index - 1]
        if not of_option and _is_one_of(_READS, word):
            return True
        nouns += 1
        if nouns > _MOST_NOUNS or not _NOUN.fullmatch(word):
            return False
    return False
