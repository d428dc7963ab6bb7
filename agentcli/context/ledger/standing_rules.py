"""The user's standing rules, kept byte for byte outside any summary."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from agentcli.context.compaction_settings import LedgerSettings
from agentcli.core.message import Message
from agentcli.core.record import Record, VerbatimText

_KEEP = LedgerSettings()


def standing_rules(
    records: Iterable[Record], known: Iterable[VerbatimText] = (), keep: LedgerSettings = _KEEP
) -> tuple[VerbatimText, ...]:
    """Return the rules known so far, then each new sentence of the user that sets one, oldest first, without repetition.

    Only prompts count: synthetic texts, tool outputs, files and summaries can never set a rule.
    """
    rules = {rule.text: rule for rule in known}
    for record in records:
        body = record.body
        if not isinstance(body, Message) or body.role != "user":
            continue
        for sentence in rule_sentences(body.text, keep):
            rules.setdefault(sentence, VerbatimText(record.seq, body.turn, sentence))
    return tuple(rules.values())


def rule_sentences(text: str, keep: LedgerSettings = _KEEP) -> tuple[str, ...]:
    """Return a text's sentences about what to do always or never, verbatim.

    Quoted lines, code blocks and lines longer than a person would type are not orders. A text with more than
    `keep.rules` such sentences is a document: only its first `keep.rules` count.
    """
    found = []
    for line in plain_lines(text):
        found += [sentence for sentence in sentences(line) if sets_rule(sentence, keep.rule_characters)]
    return tuple(dict.fromkeys(found))[: keep.rules]


def sentences(line: str) -> tuple[str, ...]:
    """Split a line into sentences; a dot inside a file name, a number or an abbreviation does not end one."""
    return tuple(piece for piece in (piece.strip() for piece in _ENDS.split(line)) if piece)


def sets_rule(sentence: str, longest: int = _KEEP.rule_characters) -> bool:
    """Return True if a sentence is about what to do always or never."""
    if len(sentence) > longest or (sentence.endswith(("?", "？")) and not _REQUEST.match(sentence)):
        return False
    return bool(_rule().search(sentence))


_REQUEST = re.compile(r"(?:please|can you|could you|would you|will you)\b", re.IGNORECASE)

_ENDS = re.compile(
    r"(?<=[。！？])|(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)(?<!\bz\.B\.)(?=[\"')\]]?\s)|(?<=[.!?][\"')\]])(?=\s)"
)

_ENGLISH = (
    r"\b(?:always|never|under no circumstances|at all times|from now on|in (?:the )?future|without (?:ever|exception))\b",
    r"\b(?:must(?: not|n['’]?t)|may not|should(?: not|n['’]?t)|shall not|cannot be changed|can['’]?t use)\b",
    r"(?:^|[,;:(—–-]\s*|\b(?:please|and|but|so|then|you|also|just|again)\s+)(?:do not|don['’]?t)\b",
    r"\b(?:only (?:ever )?(?:use|edit|change|touch|write|run|read|work|commit|import|call|add|modify|deploy|reply|answer))\b",
    r"\b(?:use|edit|change|touch|write|run|commit|reply|answer|work|modify|add)\b.{0,60}\bonly\b",
    r"\b(?:make sure (?:to|that|you|we)|be sure to|remember (?:to|that)|keep in mind|avoid|refrain from|stop using|no longer)\b",
    r"\b(?:must (?:be|have|use|stay|remain|keep|run|pass|work|contain|include|follow|start|end)|you must|we must|it must)\b",
    r"\b(?:is|are) (?:forbidden|prohibited|not allowed|off[- ]limits|required|mandatory)\b",
    r"^(?:no \w|keep (?:the|all|it|your|every|to)|ask me before|ask before|before (?:every|each|any)|after (?:every|each|any)|every time|whenever|stick to|prefer)\b",
)
_OTHERS = (
    # Japanese
    r"(?:必ず|常に|いつも|絶対に?|決して|今後は?|以後|のみ|だけを|しないで|するな|禁止|禁じ|てはいけ|てはなら|ではいけ|ないでください|ないこと|すること[。]?$|べきでは|しなければ)",
    # Chinese, simplified and traditional
    r"(?:总是|總是|始终|始終|永远|永遠|一定要|务必|務必|必须|必須|绝不|絕不|绝对不|絕對不|千万|千萬|不要|不得|不准|不许|不許|不能|不可以?|禁止|切勿|请勿|請勿|只能|只用|只使用|仅使用|僅使用|只允许|只允許|别|從現在起|从现在起|以后都|今后)",
    # Korean
    r"(?:항상|반드시|절대로?|언제나|하지\s?마|하지\s?말|금지|앞으로는?|만\s?사용|안\s?됩니다|안\s?돼)",
    # German
    r"\b(?:immer|niemals?|nie|stets|keinesfalls|auf keinen Fall|unbedingt|darfst? nicht|dürfen nicht|darf nicht|nicht (?:ändern|anfassen|verwenden|benutzen|löschen)|nur noch|(?:verwende|benutze|nutze|nimm|ändere|schreib\w*)\b.{0,40}\b(?:nur|kein\w*|nicht)|ab (?:jetzt|sofort)|verboten|muss(?:t|en)?|achte darauf|vermeide)\b",
    # French
    r"(?:\b(?:toujours|jamais|en aucun cas|désormais|dorénavant|uniquement|seulement|interdit\w*|il faut|vous devez|tu dois|évite[zr]?|assure-toi|assurez-vous)\b|\bn['e ][^.?!]{1,40}\bpas\b)",
    # Spanish, Portuguese, Italian
    r"\b(?:siempre|nunca|jamás|prohibid[oa]s?|a partir de ahora|de ahora en adelante|solamente|únicamente|s[oó]lo (?:usa|use|utiliza|edita)|no (?:uses?|toques?|cambies?|modifiques?|borres?|hagas?|debes?)|debes?|evita)\b",
    r"\b(?:sempre|jamais|proibid[oa]s?|a partir de agora|apenas|somente|não (?:use|toque|mude|altere|apague|faça|deve)|deve(?:s|m)?|evite)\b",
    r"\b(?:mai|vietat[oa]|d'ora in poi|soltanto|solo (?:usa|usare)|non (?:usare|toccare|cambiare|modificare|cancellare|fare)|devi|evita)\b",
    # Dutch, Polish, Russian, Turkish
    r"\b(?:altijd|nooit|vanaf nu|alleen maar|niet (?:wijzigen|gebruiken|aanraken)|verboden|moet(?:en)?)\b",
    r"\b(?:zawsze|nigdy|tylko|od teraz|nie (?:używaj|zmieniaj|ruszaj|usuwaj)|musisz|zabronione)\b",
    r"(?:\b(?:всегда|никогда|только|нельзя|запрещено|обязательно|отныне|впредь)\b|\bне (?:трогай|меняй|используй|удаляй|изменяй|делай)\w*)",
    r"\b(?:her zaman|asla|sadece|yalnızca|bundan sonra|kesinlikle|yasak)\b",
)


@cache
def _rule() -> re.Pattern[str]:
    """Return the pattern of all rules, compiled on first use because that takes longer than the import of most modules."""
    return re.compile("|".join((*_ENGLISH, *_OTHERS)), re.IGNORECASE)


_FENCE = re.compile(r"^\s*(?:```|~~~)")


def plain_lines(text: str) -> Iterable[str]:
    """Yield the lines of a text without code blocks, quotations and bullets."""
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">"):
            yield _BULLET.sub("", line)


_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
