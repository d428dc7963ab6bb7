"""Intent of texts: whether a task requests a change, and whether a reply only announces a step.

The words of each language are one entry of `LANGUAGES`. They only classify a text: a turn's calls decide whether it is
done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """Words of one language, as patterns for the beginning of a clause.

    `orders` is a request to change something, `announces` the first person before a step.
    """

    orders: str
    announces: str


_VERBS = (
    "fix|repair|correct|change|modify|update|upgrade|bump|add|implement|remove|delete|drop|rename|move|replace|refactor|rewrite|"
    "convert|migrate|port|extract|split|extend|improve|optimi[sz]e|clean up|introduce|apply|resolve|solve|enable|disable|wire|"
    "integrate|adjust|handle|support|edit|revert|undo|commit|insert|append|simplify|install|set up|finish|complete|debug|swap|port|downgrade|"
    r"make (?:it|the|all|this|that|these|those|them|both|every|sure|[\w./`]*(?:\(\)`?|`|\.\w+) \w+)|(?:get|bring) .+ (?:to pass|green|working|running|in(?:to)? line|up to date)|get rid of|(?:sort|take care of|deal with|look after) (?:it|this|that|them)\b"
)
_PROSE = (
    r"(?:summar|r[ée]sum|riassunt|samenvat|zusammenf|sammanfatt|streszcz|rezumat|report|bericht|rapport|informe|relat|plan\b|plano\b|piano\b|list|overview|übersicht|overzicht|table\b|diagram|outline|"
    r"review|expla|erklär|expli|spieg|descri|beschr|haiku|poem|gedicht|mail|message|nachricht|mensaj|answer|antwort|draft|entwurf|propos|vorschlag|release note|essay|analy|anály|анализ|"
    r"отчёт|отчет|резюме|список|план\b|обзор|описани)"
)
"""Beginnings of nouns for what a reply itself is."""
_OBJECT = rf"(?!\W+(?:\w+\W+){{0,3}}?{_PROSE})"
"""Follows a verb such as `write`: the object is no text that the reply can be."""
_ARTEFACT = rf"{_OBJECT}(?:(?:(?!\b(?:of|about)\b)[^.!?\n])*?(?:`|\w/\w|\w\.\w{{1,4}}\b|\b(?:tests?|files?|scripts?|functions?|class|modules?|endpoints?|methods?|commands?|components?|docstrings?|readme|changelog|migrations?)\b))"
LANGUAGES = {
    "English": Language(
        rf"(?:(?:please|kindly|now|then|also|next|first|and|so|ok|okay|yes|yeah|just|instead|can you|could you|would you|will you|you (?:should|must|need to|have to)|"
        rf"we (?:should|must|need to)|let['’]?s|i(?:['’]d like| want| need) you to|i want to|go ahead and|try to|help me(?: to)?),?\s+)*"
        rf"(?:(?:{_VERBS})\b(?!\s+nothing\b)|(?:write|create|make|build|generate|document)\b{_ARTEFACT})|(?:the\s+)?[\w.`/]+(?:\(\)`?|`|\.\w+)\s+(?:should|must|has to|needs to|shall)\s|it (?:should|must)\s",
        r"(?:(?:and|now|next|then|first|so|ok|okay|alright),?\s+)*(?:I(?:['’]ll| will| am going to|['’]m going to| need to)|let me(?! know\b)|let['’]s)\b",
    ),
    "German": Language(
        r"(?:bitte\s+)?(?:behebe?|repariere?|korrigiere?|ändere|änder|ergänze?|füge?|implementiere?|entferne?|lösche?|ersetze?|benenne?|nenne .+ um|verschiebe?|zerlege?|"
        r"aktualisiere?|erweitere?|verbessere?|passe?|bau(?:e|t)?|sorge?|räume? .+ auf|kümmer[en]? dich|bring\w* .+ in ordnung)\b|.*[\w`]\(\)`? soll\b|"
        rf"(?:bitte\s+)?(?:schreibe?|erstelle?|mache?)\b{_OBJECT}|(?:kannst|könntest|würdest) du\b.*\b\w+(?:n|en)\s*$",
        r"ich werde\b|lass(?:en sie|t)? (?:mich|uns)\b|(?:jetzt|nun|gleich|zuerst|dann|als nächstes) \w+e ich\b|(?:ich|das) (?!würde|könnte|sollte|empfehle|rate)\w+e?\b.*\b(?:jetzt|nun|gleich|als nächstes)\b",
    ),
    "French": Language(
        r"(?:merci de\s+|peux-tu\s+|pouvez-vous\s+|il faut\s+)?(?:corrige[rz]?|répare[rz]?|modifie[rz]?|change[rz]?|ajoute[rz]?|implémente[rz]?|"
        r"supprime[rz]?|remplace[rz]?|renomme[rz]?|déplace[rz]?|retire[rz]?|extrai\w+|met(?:s|tre|tez))\b|"
        rf"(?:merci de\s+|peux-tu\s+|pouvez-vous\s+|il faut\s+)?(?:crée[rz]?|écri(?:s|re|vez)|fai(?:s|re|tes))\b{_OBJECT}|.*,\s*(?:corrige|répare|change|modifie|remplace)[rz]?-l",
        r"(?:(?:maintenant|ensuite|d['’]abord),? )?(?:je vais\b|laisse[zs]?-moi\b|je m['’]en (?:occupe|charge)\b)|je \w+ (?:ça |cela )?(?:maintenant|tout de suite)",
    ),
    "Spanish": Language(
        r"(?:por favor,?\s+|puedes\s+|podrías\s+|hay que\s+)?(?:corrig(?:e|ir)|arregl(?:a|ar)|repar(?:a|ar)|modific(?:a|ar)|cambi(?:a|ar)|añad(?:e|ir)|"
        r"agreg(?:a|ar)|implement(?:a|ar)|elimin(?:a|ar)|borr(?:a|ar)|reemplaz(?:a|ar)|renombr(?:a|ar)|actualiz(?:a|ar)|quit(?:a|ar)|mueve|mover|extrae|ajust(?:a|ar)|(?:corrígel|arréglal|ajústal|cámbial|repáral)[oa]s?)\b|"
        rf"(?:por favor,?\s+|puedes\s+|podrías\s+|hay que\s+)?(?:cre(?:a|ar)|escrib(?:e|ir)|haz|hacer)\b{_OBJECT}",
        r"(?:ahora |luego |primero )?(?:voy a|vamos a|déja(?:me|nme)|permíteme|procedo a)\b|(?:ahora|enseguida) (?:lo|la|mismo)\b",
    ),
    "Portuguese": Language(
        r"(?:por favor,?\s+|você pode\s+)?(?:corrij?a|corrigir|conserte|consertar|modifique|mude|mudar|adicion(?:e|ar)|implement(?:e|ar)|remov(?:a|er)|"
        r"apag(?:ue|ar)|substitu(?:a|ir)|renomei?e|mova|extraia|troque|atualiz(?:e|ar)|ajuste|arrume)\b|(?:por favor,?\s+|você pode\s+)?"
        rf"(?:cri(?:e|ar)|escrev(?:a|er)|faça)\b{_OBJECT}",
        r"(?:agora |depois |primeiro )?(?:vou|vamos|deixe?-me|irei)\b",
    ),
    "Italian": Language(
        r"(?:per favore,?\s+|puoi\s+)?(?:corregg(?:i|ere)|sistema(?:re)?|ripara(?:re)?|modifica(?:re)?|cambia(?:re)?|aggiung(?:i|ere)|implementa(?:re)?|"
        r"rimuov(?:i|ere)|elimina(?:re)?|sostitui(?:sci|re)|rinomina(?:re)?|sposta(?:re)?|togli(?:ere)?|estrai|aggiorna(?:re)?|mettil[oaie] a posto)\b|"
        rf"(?:per favore,?\s+|puoi\s+)?(?:crea(?:re)?|scriv(?:i|ere))\b{_OBJECT}",
        r"(?:ora |adesso |poi |prima )?(?:sto per|procedo|lascia(?:mi|temi)|vado a|\w+(?:erò|irò)|(?:lo |la )?\w+o subito)\b|(?:ora|adesso) (?:lo |la )?\w+o\b",
    ),
    "Dutch": Language(
        r"(?:kun je\s+|graag\s+)?(?:repareer|herstel|corrigeer|wijzig|verander|voeg|implementeer|verwijder|vervang|hernoem|verplaats|werk|los .+ op)\b|"
        rf"(?:kun je\s+|graag\s+)?(?:maak|schrijf)\b{_OBJECT}",
        r"ik (?:ga|zal)\b|laat me\b|(?:nu|daarna|eerst) \w+ ik\b",
    ),
    "Polish": Language(
        r"(?:proszę\s+)?(?:napraw|popraw|zmień|dodaj|zaimplementuj|usuń|zastąp|zaktualizuj|przenieś|wydziel|podziel|dopisz)\w*|"
        rf"(?:proszę\s+)?(?:stwórz|utwórz|napisz)\w*{_OBJECT}",
        r"(?:teraz|zaraz|następnie|najpierw) \w+(?:ę|am|em)\b|pozwól\w*",
    ),
    "Russian": Language(
        r"(?:пожалуйста,?\s+)?(?:исправь|почини|измени|поменяй|добавь|реализуй|удали|замени|переименуй|обнови|перенеси|вынеси|раздели|убери)\w*|"
        rf"(?:пожалуйста,?\s+)?(?:создай|напиши|сделай)\w*{_OBJECT}",
        r"(?:сейчас|теперь|затем|далее|сначала),? (?:я )?\w+(?:ю|у|усь|юсь)\b|я (?:сейчас|теперь)\b|давай(?:те)?\b|позвольте\b",
    ),
    "Turkish": Language(
        r".*\b(?:düzelt|yap|taşı|ayır|onar|değiştir|ekle|uygula|kaldır|sil|güncelle|oluştur|yaz)(?:in|ın|un|ün|iniz|ınız|ir misin|er misin)?\s*$",
        r"(?:şimdi|önce|sonra)\b.*\w+(?:ceğim|cağım|ıyorum|iyorum|uyorum|üyorum)$",
    ),
    "Chinese": Language(
        r"(?!.*[ぁ-ヿ])(?:(?!解释|说明|总结|介绍|分析|列出|告诉|描述|评审|审查|为什么|哪些|怎么|如何|怎样).)*?"
        r"(?:修复|修正|修改|改正|改成|更改|添加|增加|新增|实现|删除|移除|替换|重命名|重构|更新|创建|编写|优化|升级|拆分|拆成|移到|提取|修一下|改一下|修好|改为)",
        r"(?:好的?[，,。]?)?(?:现在|接下来|然后|首先|下一步|马上)?[，,]?(?:我(?:将|会|来|要|现在|先|这就|马上|接下来)|让我|我们来)",
    ),
    "Japanese": Language(
        r".*(?:修正|追加|変更|実装|削除|作成|更新|置き換え|直し|変え|書き換え|加え|消し|移し|分割|リファクタ\w*)(?:し|て|を|く|せよ|する|$)(?!\S*(?:教え|説明|要約|見せ))",
        r"(?:では|それでは|次に|まず|これから|今から|今|すぐに?)[、,]?.*(?:ます|ましょう)$|.*(?:修正|追加|変更|実装|作成|削除|対応|実行)(?:して(?:いき)?|し)ます$",
    ),
    "Korean": Language(
        r".*(?:수정|추가|변경|구현|삭제|작성|생성|제거|고쳐|바꿔|업데이트|리팩터링|옮겨|옮기|분리|나눠)(?!.*(?:어떻게|왜)|.*(?:알려|설명|보여|요약|검토))",
        r".*(?:겠습니다|할게요|볼게요|하겠어요)$",
    ),
    "Swedish, Danish, Norwegian": Language(
        r"(?:vänligen\s+|snälla\s+|kan du\s+|venligst\s+|vennligst\s+)?(?:rätta|fixa|laga|åtgärda|ändra|lägg till|ta bort|radera|ersätt|uppdatera|implementera|byt|flytta|"
        r"ret|reparer|rediger|ændr\w*|tilføj|fjern|slet|erstat|opdat[eé]r|omdøb|flyt|implementer|rett|fiks|endre|legg til|slett|oppdater|bytt)\b",
        r"(?:nu|nå|först|sedan|nästa|härnäst|derefter|dernæst|så) \w+ (?:jag|jeg)\b|(?:jag|jeg) (?:ska|kommer att|skal|vil|fixar|retter)\b|(?:låt|lad|la) (?:mig|meg)\b",
    ),
    "Finnish": Language(
        r"(?:voitko\s+)?(?:korjaa|muuta|lisää|poista|korvaa|päivitä|toteuta|nimeä|siirrä|vaihda)\b",
        r"(?:nyt|seuraavaksi|ensin) \w+n\b|\w+n (?:sen |ne |tämän )?(?:nyt|seuraavaksi|heti)\b",
    ),
    "Czech, Slovak": Language(
        r"(?:prosím,?\s+)?(?:oprav|uprav|změň|zmeň|přidej|pridaj|odstraň|odstráň|smaž|vymaž|nahraď|přejmenuj|premenuj|aktualizuj|implementuj|přesuň|presuň|doplň)\w*",
        r"(?:teď|nyní|teraz|hned|nejdřív|najprv|poté) (?:to |se |sa |ho )*\w+(?:ím|u|m)\b",
    ),
    "Ukrainian": Language(
        r"(?:будь ласка,?\s+)?(?:виправ|полагодь|зміни|додай|реалізуй|видали|прибери|заміни|перейменуй|онови|перенеси)\w*",
        r"(?:зараз|тепер|далі|спочатку),? (?:я )?\w+(?:ю|у|уся|юся|мо)\b",
    ),
    "Romanian": Language(
        r"(?:te rog,?\s+)?(?:repară|corectează|modifică|schimbă|adaugă|șterge|elimină|înlocuiește|redenumește|actualizează|implementează|mută)\b",
        r"(?:acum |apoi |întâi )?(?:voi|o să|lasă-mă)\b",
    ),
    "Hungarian": Language(
        r"(?:kérlek,?\s+)?(?:javíts\w*|módosíts\w*|változtas\w*|adj hozzá|add hozzá|töröld|távolíts\w*|cseréld|nevezd|frissíts\w*|valósíts\w*)",
        r"(?:most|először|ezután) \w+(?:om|em|öm|ok|ek|ök)\b",
    ),
    "Greek": Language(
        r"(?:παρακαλώ,?\s+)?(?:διόρθωσε|διορθώστε|άλλαξε|αλλάξτε|πρόσθεσε|προσθέστε|αφαίρεσε|διάγραψε|αντικατάστησε|μετονόμασε|ενημέρωσε|υλοποίησε)\b",
        r"(?:τώρα |μετά |πρώτα )?θα\b",
    ),
    "Hebrew": Language(
        r"(?:בבקשה,?\s+)?(?:תקן|תקני|תקנו|שנה|שני|הוסף|הוסיפי|הסר|מחק|החלף|עדכן|ממש|העבר)\b",
        r"(?:עכשיו|כעת) אני\b|אני (?:עומד|אתקן|אשנה)\w*",
    ),
    "Arabic": Language(
        r"(?:من فضلك،?\s+|رجاءً?،?\s+)?(?:أصلح|اصلح|صحح|صحّح|عدّل|عدل|غيّر|غير اسم|أضف|اضف|احذف|أزل|استبدل|حدّث|حدث|نفّذ|انقل)\b",
        r"(?:الآن )?(?:سأ\w+|سوف|دعني)\b",
    ),
    "Persian": Language(
        r".*(?:درست|اصلاح|اضافه|حذف|عوض|جایگزین|تعمیر|به‌روز|پیاده‌سازی) ?(?:کن|کنید|بکن)\b|.*تغییر (?:بده|دهید)\b",
        r"(?:الان|اکنون) .*(?:می‌کنم|خواهم)",
    ),
    "Hindi": Language(
        r".*(?:ठीक|सही|ले जा|निकाल|जोड़|हटा|बदल|अपडेट|लागू|सुधार)\S*(?:\s+(?:कर|दे)\S*)?\s*$|.*(?:नाम|कोड) .* (?:कर दो|करो|कीजिए|रख दो)\s*$",
        r".*(?:करता हूँ|करती हूँ|करूँगा|करूँगी|करने जा रहा हूँ)\s*$",
    ),
    "Indonesian, Malay": Language(
        r"(?:tolong\s+|mohon\s+|silakan\s+)?(?:perbaiki|betulkan|ubah|ganti|tambah(?:kan)?|hapus|buang|perbarui|kemas ?kini|implementasikan|pindahkan)\b",
        r"(?:sekarang |lalu |pertama )?(?:saya akan|biar saya|mari kita)\b",
    ),
    "Vietnamese": Language(
        r"(?:hãy\s+|vui lòng\s+|làm ơn\s+)?(?:sửa|thêm|xóa|xoá|đổi|thay|cập nhật|triển khai|chuyển|bổ sung)\b",
        r"(?:bây giờ |tiếp theo |trước tiên )?(?:tôi|mình|em) sẽ\b|để (?:tôi|mình)\b",
    ),
    "Thai": Language(
        r"\s*(?:ช่วย|โปรด|กรุณา)?\s*(?:แก้(?!ว)|เพิ่ม|ลบ|เปลี่ยน|ปรับ|อัปเดต|แทนที่|ย้าย)",
        r".*(?:ผม|ฉัน|เรา)?จะ.*(?:เดี๋ยวนี้|ต่อไป|ตอนนี้)",
    ),
}
"""How texts order and announce changes, by language."""

_CLAUSE = r"[.!?:;。！？；：।؟؛]+(?=\s|$|[^\x00-\x7f])"
_CONJUNCTION = r",?\s+(?:and|then|und|dann|et|puis|y|luego|e|poi|en)\s+(?=\w)"
_MARKER = r"[\s*_#>\"'(¿¡]*(?:[-+•]\s+)?(?:\d+[.)]\s*)?(?:\[[ x]\]\s*)?[*_\"'(]*"
_LOOK_ONLY = r"(?i)\b(?:do not|don['’]t|without) (?:chang|edit|modif|writ|touch|fix|implement)\w* (?:anything|any (?:code|files?|thing)|(?:the )?(?:code|files?))\b|\bread[- ]only\b"
_SENTENCE_END = r"(?<=[.!?…।؟])[\"')\]*_]*\s+|(?<=[。！？])|\n+"
_TO_A_PERSON = r"(?i)\byou(?:['’]\w+)?\b"
"""A sentence that addresses a person (`Let me know if you …`, `I'll leave that to you`).

It offers or explains; it announces no step.
"""
_WHOLE = 1_000
"""Characters up to which a task is read whole: a longer one has instructions, logs and files in it."""
_SPOKEN = 2
"""Paragraphs read at each end of a longer task."""
_READ = 2_000
"""Characters read of each of these paragraphs."""
_MATERIAL = r"(?ms)^[^\S\n]*```.*?(?:^[^\S\n]*```|\Z)|^[^\S\n]*(?:[>|<{}+@]|-{2,}|[-+](?:\t| {2,})|\d+[→\t:]).*?$"
"""Lines of a task that nobody speaks: code, quotes, tables, differences, numbered lines of files."""


_QUOTED = r"(?<!\w)(?:\"[^\"\n]*\s[^\"\n]*\"|'[^'\n]*\s[^'\n]*'(?!\w)|“[^”\n]*\s[^”\n]*”|„[^“\n]*\s[^“\n]*“|«[^»\n]*\s[^»\n]*»)"
"""Several words in quotation marks."""
_LATER = r",\s+(?=\w+\s+(?!or\b|oder\b|ou\b|o\b)\w)"
"""A comma before a clause that can order something (`In cart.py, fix the total`): the verb has an object."""
_INFORMS = (
    r"(?i)[\W_]*(?:(?:please|can you|could you|i want to|i['’]d like to|bitte|por favor|s['’]il te plaît),?\s+)*(?:(?:tell|explain|describe|rate|translate|review|summari[sz]e|compare|list|show|say|answer|given|consider|"
    r"what|why|how|which|who|when|where|whether|is|are|does|did|do you|check|find|look|analy[sz]e|assess|audit|investigate|read|suggest|recommend|propose|estimate|count|give me|walk|understand|know|think|draft|plan|"
    r"write (?:me )?(?:a|an|the)\s|"
    r"erklär\w*|beschreib\w*|übersetze?|nenne mir|zeige? mir|sage? mir|prüfe?|wie|was|warum|welche\w*|fass\w*|explique[rz]?|décri\w+|tradui\w+|dis-moi|dites-moi|résume[rz]?|vérifie[rz]?|comment|pourquoi|quel\w*|"
    r"explica|explique|descri\w+|traduce|dime|diga|revisa|revise|resume|cómo|qué|por qué|cuál\w*|como|o que|spiega|dimmi|riassumi|controlla|come|perché|quale|leg|vertel|beschrijf|hoe|wat|waarom|welke|"
    r"wyjaśnij|opisz|sprawdź|powiedz|jak|co|dlaczego|объясни\w*|опиши\w*|проверь\w*|скажи\w*|расскажи\w*|как|что|почему|поясни\w*|опиши\w*|перевір\w*|як|що|чому|förklara|beskriv|berätta|forklar|fortæl|hur|hva\w*|vad|varför|"
    r"selitä|kerro|kuvaile|miten|mitä|miksi|vysvětli|popiš|zkontroluj|explică|descrie|cum|de ce|magyarázd\w*|írd le|hogyan|miért|εξήγησε|περίγραψε|πώς|γιατί|הסבר|תאר|איך|למה|اشرح|صف|كيف|لماذا|jelaskan|bagaimana|giải thích|mô tả)\b|"
    r"解释|说明|总结|介绍|分析|列出|告诉|描述|评审|审查|检查|为什么|怎么|如何|อธิบาย|समझाओ|बताओ)|(?:.*(?:教えて|説明|要約|見せて|알려|설명|보여|요약|어떻게|どう|なぜ|açıkla|anlat|توضیح|समझा|बता))"
)
"""Asks for an answer: what follows after a comma or colon is its subject."""
_QUESTION = ("?", "？", "؟", "\u037e")
_NEGATED = r"(?i)\s+(?:not|never|nicht|kein\w*|pas|niet|geen|inte|ikke|não)\b"


def orders_change(task: str) -> bool:
    """Return True if a task asks for a change."""
    said = _unquoted(task) if len(task) <= _WHOLE else _spoken(task)
    if re.search(_LOOK_ONLY, said):
        return False
    pattern = _any("orders")
    clauses = list(_clauses(said))
    orders = [bool(pattern.match(clause)) for clause in clauses]
    asks = said.rstrip().endswith(_QUESTION)
    return any(orders) and not (asks and not orders[-1])


def asks_nobody(text: str, task: str) -> bool:
    """Return True if a reply ends with a question, although its task asks for no answer."""
    asks = text.rstrip().rstrip("*_\"')”」 ").endswith(_QUESTION)
    return (
        asks
        and not any(mark in task for mark in _QUESTION)
        and not any(re.match(_INFORMS, line) for line in _lines(task))
    )


def _lines(said: str) -> list[str]:
    return [line for line in re.split(r"\n+|(?<=[.!?;。])\s*", said) if line.strip()]


def _clauses(said: str) -> Iterator[str]:
    """Yield the clauses that may order something. A sentence that asks for an answer is one, except at its conjunctions."""
    for line in filter(str.strip, re.split(r"\n+|(?<=[.!?;])\s+", said)):
        marks = r"(?!)" if re.match(_INFORMS, line) else rf"{_CLAUSE}|{_LATER}"
        between = rf"{marks}|{_CONJUNCTION}"
        yield from (clause for clause in re.split(between, line) if clause.strip())


def _unquoted(task: str) -> str:
    """Return a task without the code and the sentences that it quotes, unless it consists of them."""
    plain = re.sub(_QUOTED, "", re.sub(_MATERIAL, "", task))
    return plain if any(letter.isalpha() for letter in plain) else task


def _spoken(task: str) -> str:
    """Return the paragraphs of a long task in which its author speaks: its first and last ones."""
    plain = re.sub(_MATERIAL, "", task)
    paragraphs = [part.strip()[:_READ] for part in re.split(r"\n\s*\n", plain) if part.strip()]
    ends = paragraphs[:_SPOKEN] + paragraphs[max(_SPOKEN, len(paragraphs) - _SPOKEN) :]
    return "\n".join(ends)


def announces(text: str, *, anywhere: bool = False) -> bool:
    """Return True if a reply ends with the announcement of a step.

    With `anywhere`, return True if any sentence of its last paragraph announces one.
    """
    plain = text.strip().rstrip("*_ ")
    if not plain:
        return False
    paragraph = _last_said(plain) if anywhere else plain
    sentences = [sentence for sentence in re.split(_SENTENCE_END, paragraph) if sentence.strip()]
    return any(map(_announces, sentences if anywhere else sentences[-1:])) or plain.endswith((":", "："))


def _last_said(text: str) -> str:
    """Return the last paragraph; of a list, with the paragraph that begins it, unless that asks something."""
    before, _, last = text.rpartition("\n\n")
    lead = before.rpartition("\n\n")[2] if re.match(r"(?:[-*•]|\d+[.)])\s", last) else ""
    return f"{lead}\n{last}" if lead and "?" not in lead else last


def _announces(sentence: str) -> bool:
    said = sentence.strip().lstrip("*_#>- ").rstrip(" .!…。！।*_")
    step = _any("announces").match(said)
    return step is not None and not re.match(_NEGATED, said[step.end() :]) and not re.search(_TO_A_PERSON, said)


@cache
def _any(kind: str) -> re.Pattern[str]:
    """Return the patterns of all languages as one, compiled on first use: it would add milliseconds to each start."""
    patterns = "|".join(f"(?:{getattr(language, kind)})" for language in LANGUAGES.values())
    return re.compile(rf"{_MARKER}(?:{patterns})", re.IGNORECASE)
