"""Intent of texts: what a task asks for, and whether a reply announces a step, asks, or confirms an answer.

The words of each language are one entry of `LANGUAGES`. They only classify a text: a turn's calls decide whether it is
done. A task counts as one for an answer only if its words show that; otherwise the model is asked. Few verbs ask for an
answer, and any verb may ask for a change.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from functools import cache

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """Words of one language, as patterns for the beginning of a clause.

    `orders` is a request to change something, `announces` the first person before a step. `informs` is a verb that asks
    for an answer, and `requests` begins a question to somebody who shall act. `left` are words, anywhere in a clause,
    for what is not done yet. `unchanged` reports that nothing was changed.
    """

    orders: str
    announces: str
    informs: str = r"(?!)"
    requests: str = r"(?!)"
    left: str = r"(?!)"
    unchanged: str = r"(?!)"


_LEAD = (
    r"(?:(?:please|kindly|now|then|also|next|first|and|so|ok|okay|yes|yeah|just|instead|can you|could you|would you|will you|you (?:should|must|need to|have to)|"
    r"we (?:should|must|need to)|let['’]?s|i(?:['’]d like| want| need) (?:you )?to|go ahead and|try to|help me(?: to)?),?\s+)*"
)
"""What may stand before the verb of a request."""
_VERBS = (
    "fix|repair|correct|change|modify|update|upgrade|bump|add|implement|remove|delete|drop|rename|move|replace|refactor|rewrite|"
    "convert|migrate|port|extract|split|extend|improve|optimi[sz]e|clean up|introduce|apply|resolve|solve|enable|disable|wire|"
    "integrate|adjust|handle|support|edit|revert|undo|commit|insert|append|simplify|install|set up|finish|complete|debug|swap|downgrade|"
    r"make (?:it|the|all|this|that|these|those|them|both|every|sure|[\w./`]*(?:\(\)`?|`|\.\w+) \w+)|(?:get|bring) .+ (?:to pass|green|working|running|in(?:to)? line|up to date)|get rid of|(?:sort|take care of|deal with|look after) (?:it|this|that|them)\b"
)
_ARTEFACT = r"(?:(?:(?!\b(?:of|about)\b)[^.!?\n])*?(?:`|\w/\w|\w\.\w{1,4}\b|\b(?:tests?|(?:(?!pro)\w*)files?|scripts?|functions?|class|modules?|endpoints?|methods?|commands?|components?|docstrings?|readme|changelog|migrations?)\b))"
_INFORMS = (
    rf"{_LEAD}(?:tell|explain|describe|rate|translate|review|summari[sz]e|compare|list|show|say|answer|reply|given|consider|"
    r"what|why|how|which|who|when|where|whether|is|are|does|did|do you|check|find|look|analy[sz]e|assess|audit|investigate|read|suggest|recommend|propose|estimate|count|give me|walk|understand|see|decide|know|think|report|draft|plan|"
    r"write (?:me )?(?:a|an|the)\s|make (?:me )?an? (?:list|table|summary|overview)\b)\b"
)
"""The beginning of an English sentence that asks for an answer. A verb after a comma or colon in it orders nothing."""
LANGUAGES = {
    "English": Language(
        rf"{_LEAD}"
        rf"(?:(?:{_VERBS})\b(?!/\w)|(?:write|create|make|build|generate|document)\b{_ARTEFACT})|(?:the\s+)?[\w.`/]+(?:\(\)`?|`|\.\w+)\s+(?:should|must|has to|needs to|shall)\s|it (?:should|must)\s|should be\s+\w+ing\b",
        r"(?:(?:and|now|next|then|first|so|ok|okay|alright),?\s+)*(?:I(?:['’]ll| will| am going to|['’]m going to| need to)|let me(?! know\b)|let['’]s)\b",
        _INFORMS,
        r"(?:can|could|would|will) you\b",
        r"(?<!no )\bremain(?:ing|s? (?:to|open))\b|\bstill (?:to|needs?|missing|open|pending|left|ha(?:s|ve) to|untouched)\b|(?<!nothing )\bleft to (?:do|be)\b|\byet to\b|\bnext up\b|\b(?:comes?|is|are) next\b(?=[.!])|\b(?:moving on|continuing|proceeding) (?:to|with)\b|\bnot (?:yet )?(?:done|finished|started|covered|converted|migrated)\b|\bthe (?:other|rest|others)\b[^.]{0,40}\b(?:can|could|will|needs?|should|follows?)\b|\banother (?:session|run|step|turn)\b|\bseparate (?:session|run|step|turn|change)\b",
        unchanged=r"\b(?:changed|modified|touched|edited) nothing\b|\bmade no (?:\w+ )?(?:changes?|edits?)\b|\bnothing (?:[\w`/-]+ ){0,4}(?:was|has been) (?:changed|modified|touched|edited)\b|\bleft (?:[\w`./*-]+ ){1,4}?(?:untouched|unchanged|alone|as(?: it| they)? (?:is|was|are|were))\b|\bno (?:\w+ )?(?:changes?|files?) (?:was|were|has been|have been) (?:made|changed|modified)\b|\b(?:did|have)(?:n['’]t| not) (?:chang|modif|touch|edit)\w* an?y?\b",
    ),
    "German": Language(
        r"(?:bitte\s+)?(?:behebe?|repariere|korrigiere|ändere|änder|ergänze|füge?|implementiere|entferne|lösche|ersetze|benenne|verschiebe|"
        r"aktualisiere|erweitere|verbessere|passe?|baue?|schreibe?|erstelle|mach|sorge)\b|(?:kannst|könntest|würdest) du\b.*\b\w+(?:n|en)\s*$",
        r"ich werde\b|lass(?:en sie|t)? (?:mich|uns)\b|(?:jetzt|nun|gleich|zuerst|dann|als nächstes) \w+e ich\b|ich (?!würde\b)\w+e?\b.*\b(?:jetzt|nun|gleich|als nächstes)\b",
        r"(?:erkläre?|beschreibe?|zeige?|nenne?|liste|fasse?\b.*\bzusammen|schau|prüfe? ob|finde? heraus|vergleiche?|bewerte?|schlage?|sage?)\b",
        r"(?:kannst|könntest|würdest) du\b|(?:können|könnten|würden) sie\b",
        r"\b(?:fehl(?:t|en) noch|noch (?:nicht|offen|fehl\w+|zu)|ausstehend\w*|restlich\w+|übrigen? \w+ (?:folg|müss|steh|brauch)\w*)\b",
        unchanged=r"\bnichts (?:\w+ )?(?:ge|ver)ändert\b|\bkeine (?:Datei\w*|Änderung\w*) (?:\w+ )?(?:ge|vor)\w+",
    ),
    "French": Language(
        r"(?:merci de\s+|peux-tu\s+|pouvez-vous\s+|il faut\s+)?(?:corrige[rz]?|répare[rz]?|modifie[rz]?|change[rz]?|ajoute[rz]?|implémente[rz]?|"
        r"supprime[rz]?|remplace[rz]?|renomme[rz]?|crée[rz]?|écri(?:s|re|vez)|met(?:s|tre|tez)|fai(?:s|re|tes))\b",
        r"(?:(?:maintenant|ensuite|d['’]abord),? )?(?:je vais\b|laisse[zs]?-moi\b|je m['’]en (?:occupe|charge)\b)|je \w+ (?:ça |cela )?(?:maintenant|tout de suite)",
        r"(?:expliqu|décri|montr|list|résum|compar|propos|analys)(?:e[rz]?|s|re|vez)\b|dis-moi\b",
        r"(?:peux|pourrais)-tu\b|(?:pouvez|pourriez)-vous\b|tu (?:peux|pourrais)\b",
        r"\b(?:il )?reste(?:nt)?\b|\bpas encore\b",
        unchanged=r"\brien (?:n['’]a été |été )?(?:modifié|changé)|\baucun\w* (?:fichier|modification|changement) n['’]",
    ),
    "Spanish": Language(
        r"(?:por favor,?\s+|puedes\s+|podrías\s+|hay que\s+)?(?:corrig(?:e|ir)|arregl(?:a|ar)|repar(?:a|ar)|modific(?:a|ar)|cambi(?:a|ar)|añad(?:e|ir)|"
        r"agreg(?:a|ar)|implement(?:a|ar)|elimin(?:a|ar)|borr(?:a|ar)|reemplaz(?:a|ar)|renombr(?:a|ar)|cre(?:a|ar)|escrib(?:e|ir)|actualiz(?:a|ar)|haz|hacer)\b",
        r"(?:ahora |luego |primero )?(?:voy a|vamos a|déja(?:me|nme)|permíteme|procedo a)\b|(?:ahora|enseguida) (?:lo|la|mismo)\b",
        r"(?:explica|describe|muestra|enumera|resume|compara|propón|dime|analiza|revisa)(?:me)?\b",
        r".*\b(?:puedes?|podrías?)\b",
        r"\b(?:falta|queda|resta)n\b|\b(?:falta|queda) (?:por|el|la|los|las)\b|\baún no\b|\bpendientes?\b|\brestantes\b",
        unchanged=r"\bno (?:\w+ )?(?:modifi|cambi|actuali)\w+ nada\b|\bnada fue \w+|\bningún \w+ (?:fue|se ha)\b",
    ),
    "Portuguese": Language(
        r"(?:por favor,?\s+|você pode\s+)?(?:corrij?a|corrigir|conserte|consertar|modifique|mude|mudar|adicion(?:e|ar)|implement(?:e|ar)|remov(?:a|er)|"
        r"apag(?:ue|ar)|substitu(?:a|ir)|renomei?e|cri(?:e|ar)|escrev(?:a|er)|atualiz(?:e|ar)|faça)\b",
        r"(?:agora |depois |primeiro )?(?:vou|vamos|deixe?-me|irei)\b",
        r"(?:explique|explica|descreva|mostre|liste|resuma|compare|proponha|diga|analise)(?:-me)?\b",
        r"(?:você )?(?:pode|poderia|consegue)\b",
        r"\b(?:falta|resta)m?\b|\bainda não\b|\bpendentes?\b|\brestantes\b",
        unchanged=r"\bnão (?:\w+ )?(?:alter|modifi|mud|atuali)\w+ nada\b|\bnada foi \w+|\bnenhum\w? \w+ foi\b",
    ),
    "Italian": Language(
        r"(?:per favore,?\s+|puoi\s+)?(?:corregg(?:i|ere)|sistema(?:re)?|ripara(?:re)?|modifica(?:re)?|cambia(?:re)?|aggiung(?:i|ere)|implementa(?:re)?|"
        r"rimuov(?:i|ere)|elimina(?:re)?|sostitui(?:sci|re)|rinomina(?:re)?|crea(?:re)?|scriv(?:i|ere)|aggiorna(?:re)?)\b",
        r"(?:ora |adesso |poi |prima )?(?:sto per|procedo|lascia(?:mi|temi)|vado a|\w+(?:erò|irò)|(?:lo |la )?\w+o subito)\b|(?:ora|adesso) (?:lo |la )?\w+o\b",
        r"(?:spiega|descrivi|mostra|elenca|riassumi|confronta|proponi|dim|analizza)(?:mi)?\b",
        r"(?:mi )?(?:puoi|potresti|può)\b",
        r"\b(?:manca(?:no)?|restan(?:o|ti)|resta|rimanenti|riman(?:e|gono))\b|\bnon ancora\b",
        unchanged=r"\bnessuna modifica\b|\bnon (?:\w+ )?(?:modific|cambi|tocc)\w+ (?:nulla|niente)\b",
    ),
    "Dutch": Language(
        r"(?:kun je\s+|graag\s+)?(?:repareer|herstel|corrigeer|wijzig|verander|voeg|implementeer|verwijder|vervang|hernoem|maak|schrijf|werk)\b",
        r"ik (?:ga|zal)\b|laat me\b|(?:nu|daarna|eerst) \w+ ik\b",
        r"leg\b.*\buit\b|(?:beschrijf|toon|vergelijk|vertel|noem)\b",
        r"(?:kun|kan|wil) je\b|kunt u\b",
        r"\b(?:resteert|resterende|nog (?:niet|te|open))\b",
        unchanged=r"\bniets (?:gewijzigd|veranderd|aangepast)\b",
    ),
    "Polish": Language(
        r"(?:proszę\s+)?(?:napraw|popraw|zmień|dodaj|zaimplementuj|usuń|zastąp|zaktualizuj|stwórz|utwórz|napisz|przenieś)\w*",
        r"(?:teraz|zaraz|następnie|najpierw) \w+(?:ę|am|em)\b|pozwól\w*",
        r"(?:wyjaśnij|opisz|pokaż|wymień|podsumuj|porównaj)\b",
        r"(?:czy )?(?:możesz|mógłbyś|mogłabyś)\b",
        r"\b(?:pozosta\w+|zosta(?:ło|ły) \w+|jeszcze nie)\b",
        unchanged=r"\bnic(?:zego)? nie (?:\w*mien|modyf)\w+",
    ),
    "Russian": Language(
        r"(?:пожалуйста,?\s+)?(?:исправь|почини|измени|поменяй|добавь|реализуй|удали|замени|переименуй|обнови|создай|напиши|сделай|перенеси)\w*",
        r"(?:сейчас|теперь|затем|далее|сначала),? (?:я )?\w+(?:ю|у|усь|юсь)\b|я (?:сейчас|теперь)\b|давай(?:те)?\b|позвольте\b",
        r"(?:объясни|опиши|покажи|перечисли|сравни|расскажи|предложи)(?:те)?\b",
        r"(?:не )?(?:можешь|можете|мог(?:ли|ла)? бы)\b",
        r"\b(?:остал\w+|остаётся|остальн\w+|ещё не|пока не)\b",
        unchanged=r"\b(?:ничего|файл\w*) не (?:\w*мен|трога)\w+",
    ),
    "Turkish": Language(
        r".*\b(?:düzelt|onar|değiştir|ekle|uygula|kaldır|sil|güncelle|oluştur|yaz)(?:in|ın|un|ün|iniz|ınız|ir misin|er misin)?\s*$",
        r"(?:şimdi|önce|sonra)\b.*\w+(?:ceğim|cağım|ıyorum|iyorum|uyorum|üyorum)$",
        r".*\b(?:açıkla|anlat|listele|özetle|karşılaştır)\w*\s*$",
        r".*(?:abilir|ebilir|r) m[iı]s[iı]n",
        r"\b(?:kalan|henüz)\b",
        unchanged=r"\bhiçbir (?:şey|dosya)\w* değiş\w+",
    ),
    "Chinese": Language(
        r".*?(?:修复|修正|修改|改正|改成|更改|添加|增加|新增|实现|删除|移除|替换|重命名|重构|更新|创建|编写|优化|升级)",
        r"(?:好的?[，,。]?)?(?:现在|接下来|然后|首先|下一步|马上)?[，,]?(?:我(?:将|会|来|要|现在|先|这就|马上|接下来)|让我|我们来)",
        r"(?:请|帮我)?(?:解释|说明|介绍|总结|列出|比较|分析|告诉|描述)",
        r".*(?:你能|能帮|帮我|可以帮)",
        r"其余|剩下|剩余|还需|尚未|还没",
        unchanged=r"(?:没有|未)(?:做|作|进行)?(?:任何)?(?:改动|修改|更改|变更)",
    ),
    "Japanese": Language(
        r".*(?:修正|追加|変更|実装|削除|作成|更新|置き換え|直し|書き換え|リファクタ\w*)(?:し|て|を|く|せよ|する|$)",
        r"(?:では|それでは|次に|続いて|引き続き|まず|これから|今から|今(?!後)|すぐに?)[、,]?.*(?:ます|ましょう)$|.*(?:修正|追加|変更|実装|作成|削除|対応|実行)(?:して(?:いき)?|し)ます$",
        r".*(?:説明し|教え|要約し|比較し)\w*$",
        r".*(?:もらえ|くれ|いただけ)(?:ます|ない|る|ません)",
        r"残り(?!は?(?:あり|な))|未対応|まだ",
        unchanged=r"(?:変更|修正)(?:は|も)?(?:一切)?(?:加えて|行って|して)い?(?:ない|ません)",
    ),
    "Korean": Language(
        r".*(?:수정|추가|변경|구현|삭제|작성|생성|제거|고쳐|바꿔|업데이트|리팩터링)",
        r"(?!.*(?:시면|으면) ).*(?:겠습니다|할게요|볼게요|하겠어요)$",
        r".*(?:설명|알려|요약|비교)\w*\s?\w*$",
        r".*(?:줄 수|주실|줄래|해줄)",
        r"남은|남았|나머지|아직",
        unchanged=r"(?:변경|수정)(?:은|한 것은|하지는?)? ?(?:없|않)",
    ),
    "Vietnamese": Language(
        r"(?:hãy\s+)?(?:sửa|thêm|xóa|xoá|đổi|thay|cập nhật|viết|tạo)\b",
        r"(?:tiếp theo|bây giờ|sau đó|trước tiên),?.*\bsẽ\b|(?:tôi|mình|em) sẽ\b",
        left=r"\bcòn lại\b|\bchưa (?:làm|xong)\b",
    ),
    "Ukrainian": Language(
        r"(?:будь ласка,?\s+)?(?:виправ|додай|зміни|видали|заміни|онови|створи|напиши|зроби|перенеси)\w*",
        r"(?:зараз|тепер|далі|потім|спочатку),? (?:я )?\w+(?:ю|у|усь|юсь)\b|я (?:зараз|тепер)\b",
    ),
    "Arabic": Language(
        r"(?:أصلح|أضف|غي[ّ]?ر|احذف|استبدل|حد[ّ]?ث|أنشئ|اكتب)\b",
        r"(?:الآن |بعد ذلك |ثم )?سوف\b|(?:الآن |بعد ذلك |ثم )?س[أن]\w+",
    ),
    "Hindi": Language(r".*(?:करो|कर दो|लगा दो|जोड़ो|हटाओ|बदलो|बनाओ|कीजिए|दीजिए)\s*$", r".*(?:ूंगा|ूँगा|ूंगी|ूँगी|ेंगे)$"),
}
"""How texts order and announce changes, and ask for answers, by language."""

_ANNOUNCING = {
    "German": "_ich _lass",
    "French": "_je_ laisse",
    "Spanish": "voy_a vamos_a déja permíteme procedo_a ahora_ enseguida_",
    "Portuguese": "_vou vamos deix irei",
    "Italian": "sto_per procedo lascia vado_a erò irò _subito ora_ adesso_",
    "Dutch": "_ik laat_me",
    "Polish": "teraz zaraz następnie najpierw pozwól",
    "Russian": "сейчас теперь затем далее сначала давай позвольте",
    "Turkish": "şimdi önce sonra",
    "Chinese": "我",
    "Japanese": "ます ましょう",
    "Korean": "겠습니다 할게요 볼게요 하겠어요",
    "Vietnamese": "sẽ",
    "Ukrainian": "зараз тепер далі потім спочатку",
    "Arabic": "سوف سأ سن",
    "Hindi": "ूंगा ूँगा ूंगी ूँगी ेंगे",
}
"""Words by language: every announcement contains one. `_` is the edge of a word."""
_ENGLISH = ("English",)
_OTHERS = tuple(name for name in LANGUAGES if name not in _ENGLISH)
_MARKS = str.maketrans(dict.fromkeys(f"{string.punctuation}¿¡•", " ") | {"İ": "i"})

_CLAUSE = r"[.!?:;。！？；：।؟؛]+(?=\s|$|[^\x00-\x7f])"
_CONJUNCTION = r",?\s+(?:and|then|und|dann|et|puis|y|luego|e|poi|en)\s+(?=\w)"
_MARKER = r"[\s*_#>\"'(¿¡]*(?:[-+•]\s+)?(?:\d+[.)]\s*)?(?:\[[ x]\]\s*)?[*_\"'(]*"
_LOOK_ONLY = r"(?i)\b(?:no|without(?: making)?(?: any)?|(?:do not|don['’]t) make(?: any)?) (?:code )?changes\b|\b(?:do not|don['’]t|without) (?:chang|edit|modif|writ|touch|fix|implement)\w* (?:anything|any (?:code|files?|thing)|(?:the )?(?:code|files?))\b|\bread[- ]only\b"
_NOTHING = r"(?i)\s+(?:nothing|no (?:code|files?)|nichts|rien|nada|nulla|niente|niets|nic|ничего)(?:\s+(?:at all|yet|for now))?\W*"
"""The rest of a sentence that orders to leave everything as it is (`Change nothing.`)."""
_SENTENCE_END = r"(?<=[.!?…।؟])[\"')\]*_]*\s+|(?<=[。！？])|\n+"
_TO_A_PERSON = r"(?i)\byou(?:['’]\w+)?\b"
"""A sentence that addresses a person (`Let me know if you …`, `I'll leave that to you`).

It offers or explains; it announces no step.
"""
_WHOLE = 1_000
"""Maximum characters of a task that is read whole: a longer one contains instructions, logs and files."""
_SPOKEN = 2
"""Paragraphs read at the beginning and at the end of a longer task."""
_READ = 2_000
"""Characters read of each of these paragraphs."""
_MATERIAL = r"(?ms)^[^\S\n]*```.*?(?:^[^\S\n]*```|\Z)|^[^\S\n]*(?:[>|<{}+@]|-{2,}|[-+](?:\t| {2,})|\d+[→\t:]).*?$"
"""Lines of a task that are not its author's words: code, quotes, tables, diffs, numbered lines of files."""
_QUOTED = r"(?<!\w)(?:\"[^\"\n]*\s[^\"\n]*\"|'[^'\n]*\s[^'\n]*'(?!\w)|“[^”\n]*\s[^”\n]*”|„[^“\n]*\s[^“\n]*“|«[^»\n]*\s[^»\n]*»)"
"""Several words in quotation marks."""
_LATER = r",\s+(?=\w+\s+(?!or\b|oder\b|ou\b|o\b)\w)"
"""A comma before a clause that can order something (`In cart.py, fix the total`): the verb has an object."""
_ENDING = 20_000
"""Characters at the end of a reply in which its last sentence or paragraph is looked for."""
_SENTENCE = r"\n+|(?<=[.!?;])\s+|(?<=[。！？；])"
"""The boundary between two sentences."""
_STEPS = r"(?ms)^\W*1[.)]\s.*^\W*2[.)]\s"
"""The first two items of a numbered list."""
_RUNS = rf"(?i){_MARKER}{_LEAD}(?:(?:re-?)?run|execute|start|launch|test|build|compile|lint|verify)\b"
"""The beginning of a sentence that asks to run something."""
_IMPERATIVE = (
    rf"(?i){_MARKER}{_LEAD}(?!(?:it|this|that|these|those|the|an?|i|we|you|they|he|she|my|our|your|there|here|some|any|all|each|every|both|no|not|if|when|while|as|since|because|but|or|so|"
    r"though|although|until|unless|after|before|in|on|at|by|for|from|of|to|with|without|into|about|like|than|is|are|was|were|be|do|does|did|has|have|had|can|could|will|would|shall|should|"
    r"may|might|must|what|who|whom|which|where|why|how|whether|via|during|under|over|through|between|against|\w+ing)\b)"
    r"[a-z]+(?: (?:up|out|down|off|in|on|over|back))? (?:the|this|that|these|those|it|them|an?|all|every|each|any|my|our|its|their|both)\b"
)
"""An English imperative with its object: a word that is no function word, before a determiner or a pronoun."""
_TELLS = (
    r"(?i)[,，、]?\s*(?:\b(?:and|und|et|y|e|i|и|та|ve|en|och)\s+|并|然后|[,，])(?:then |me |mir |mi |bana )?"
    r"(?:tell|explain|report|show|describe|list|sag|erklär|zeig|nenn|dis|dire|explique|dime|explica|diga|diz|fala|mostr[ae]|dimmi|spiega|скажи|расскажи|объясни|опиши|powiedz|wyjaśnij|"
    r"söyle|anlat|vertel|告诉|说明|解释)\w*(?:\s[^.!\n]*|[^。！\n]*)\Z"
)
"""The last clause of a sentence if it asks to tell what the clauses before it find."""
_STOPS = " \t.!…。！।"
"""Characters around a sentence that no pattern expects."""
_WORD = r"[ぁ-ヿ一-鿿]{1,2}|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,4}|[^\W\d_]+"
"""A word; in a script without spaces, two characters count as one, or four if it writes each sound."""
_SHORT = 3
"""Maximum words of a short text."""
_TELLING = r"[a-z_]{6,}|\d{2,}"
"""A number, or a word that is too long to occur in another text by chance."""
_FILE = r"(?<![\w@:/.])(?:[\w@.-]+/)*[\w@.-]*\w\.[A-Za-z]\w{0,7}(?![\w/(-]|\.\w)"
"""The path or name of a file with an ending."""
_COMMANDS = r"(?ms)^\s*```.*?(?:^\s*```|\Z)|`(?:(?P<word>[^`\s]*)|[^`\n]*)`"
"""Blocks of code, and words in code marks; `word` is one that stands alone in them."""
_ANSWERED = r"(?i)[\W_]*answered\b[\W_]*"
"""The beginning of a reply that confirms the one before it."""
_DONE = (
    r"(?i)[\W_]*(?:all )?(?:done|fixed|finished|completed|all set|erledigt|fertig|behoben|c['’]est fait|corrigé|terminé|listo|hecho|corregido|feito|pronto|concluído|"
    r"fatto|corretto|klaar|gedaan|gotowe|zrobione|готово|сделано|исправлено|tamam|bitti|已?完成|搞定|完了|완료)(?!\w)"
)
"""The beginning of a reply that claims success."""
_OPEN_BOX = r"^\s*[-*+] \[ \] "
"""An item of a list that is not ticked, at the beginning of a line."""
_LEFT_LABEL = (
    r"(?:(?:still )?(?:remaining|open)|still (?:to do|missing)|left to do|not (?:yet )?done|to-?do|noch (?:offen|zu tun)|offen|reste(?: à faire)?|pendientes?|por hacer|"
    r"pendentes?|por fazer|da fare|осталось|剩余|剩下|待办|残り|未対応|남은 (?:작업|일))(?!\w)"
)
_LEFT_LIST = rf"(?im)^\W*{_LEFT_LABEL}[^\n]{{0,40}}[:：]\W*$|^\W*\*\*(?!open\b){_LEFT_LABEL}[^\n*]{{0,40}}(?:[:：]\*\*|\*\*[:：])\s*(?!none|nothing)\w|{_OPEN_BOX}"
"""Heading of open work, or an item of a list that is not ticked. A bold heading may begin its text."""
_NEEDLESS = (
    r"(?i)\bno changes? (?:(?:is|are|was|were) )?(?:needed|necessary|required)\b|\bnothing (?:(?:left )?(?:for me )?to \w+(?! with)|needs to (?:be )?chang\w+)\b|"
    r"\bkeine Änderung\w* (?:nötig|notwendig|erforderlich)\b|\baucun (?:changement|modification)\w* (?:n['’]est )?nécessaire|\bno (?:es|fue) necesario\b|\bnão (?:é|foi) necessári\w+|"
    r"\bnon (?:è|era) necessari\w+|\bизменени\w+ не (?:требу|нуж)\w+|无需(?:任何)?(?:修改|更改|改动)|(?:変更|修正)は(?:不要|必要ありません)|(?:변경|수정)할 필요가 없"
)
"""The statement that nothing has to change, in a first sentence or at the end of the last one."""
_SO = r"(?:\A|[;:]\s|\bso,?\s)(?:there(?:['’]s| is| was) )?"
"""What comes before a clause that states a result."""
_PERCENT = r"(\d+(?:[.,]\d+)?)\s?[%％]"
"""A percentage, and its number."""
_FENCE_MARK = r"(?m)^\s*(?:`{3,}|~{3,})"
_ITEM = r"\s*(?:[-*•]|\d+[.)])\s"
_QUESTION = r"[?？؟\u037e]|[\u0370-\u03ff\u1f00-\u1fff]\s*[\w./`-]*;|[すんたうの]か(?=[。\s]*\Z)"
"""The mark of a question: in Greek, it is a semicolon, also after a name; in Japanese, a last syllable."""
_NEGATED = r"(?i)\s+(?:not|never)\b"


def orders_change(task: str, *, surely: bool = False) -> bool:
    """Return True if a task asks for a change. With `surely`, return True only for an order in English.

    In other languages, the words of an order may also ask for a text.
    """
    said = _said(task)
    if _looks_only(said):
        return False
    clauses = list(_clauses(said))
    return any(_begins("orders", clause, surely=surely) for clause in clauses) and not (
        _ends_in_question(said) and not _begins("orders", clauses[-1], surely=surely)
    )


def _looks_only(said: str) -> bool:
    """Return True if a task says that nothing may change."""
    return re.search(_LOOK_ONLY, said) is not None or any(map(_orders_nothing, re.split(_SENTENCE, said)))


def _orders_nothing(sentence: str) -> bool:
    if not re.search(rf"{_NOTHING}\Z", sentence):
        return False  # the orders of all languages would be compiled
    order = _begins("orders", sentence)
    return order is not None and re.fullmatch(_NOTHING, sentence[order.end() :]) is not None


_LAST = 10_000
"""Characters of a text's end in which its last line is looked for."""


def asks(text: str) -> bool:
    """Return True if a text ends with a question that is neither quoted nor an item of a list."""
    last = text[-_LAST:].rstrip().rstrip("*_`) ").rpartition("\n")[2]
    return _ends_in_question(last) and not re.match(_ITEM, last)


def _ends_in_question(text: str) -> bool:
    return re.search(rf"(?:{_QUESTION})\s*\Z", text) is not None


def wants_answer(task: str) -> bool:
    """Return True if a task plainly asks for an answer."""
    return _wants_answer(_said(task), ran=False)


def unclear(text: str, task: str, *, called: bool = False, ran: bool = False, failed: bool = False) -> bool:
    """Return True if only the model can tell whether this reply is all that its task asks for.

    That holds for every task that does not plainly ask for an answer. A few words tell too little, but for an order.
    `called` if the turn has called a tool, `ran` if a command ran: its result may be the answer. If the reply asks,
    or the last command `failed`, any other imperative in an English task is an order. After calls, one that a
    conjunction adds to the question is an order, too.
    """
    said = _said(task)
    if _wants_answer(said, ran=ran):
        sure = failed or asks(text)
        return (called or sure) and not _looks_only(said) and _orders_else(said, added=not sure)
    short = len(re.findall(_WORD, said)) <= _SHORT - asks(text)
    return not short or orders_change(task) or (called and (asks(text) or re.search(_STEPS, text) is not None))


def _wants_answer(said: str, *, ran: bool) -> bool:
    """Return True if a task plainly asks for an answer: no other sentence in it orders something."""
    if _looks_only(said):
        return True
    sentences = [sentence for one in re.split(_SENTENCE, said) if (sentence := one.strip(_STOPS))]
    asked = [
        bool(_begins("informs", one) or (ran and re.match(_RUNS, one)) or re.search(_TELLS, one))
        or (re.search(_QUESTION, one) and not _begins("requests", one))
        for one in sentences
    ]
    others = [
        re.sub(_TELLS, "", one)
        for one, is_asked in zip(sentences, asked, strict=True)
        if not is_asked or re.search(_TELLS, one)
    ]
    ends_with_question = bool(asked) and asked[-1] and _ends_in_question(said) and not re.search(_TELLS, sentences[-1])
    ordered = orders_change(said, surely=True) or (not ends_with_question and orders_change("\n".join(others)))
    return any(asked) and not ordered


def _orders_else(said: str, *, added: bool) -> bool:
    """Return True if an English clause orders something else than an answer or a run: an imperative with its object.

    `added` leaves out the first clause of each sentence.
    """
    return any(
        re.match(_IMPERATIVE, clause) and not (_begins("informs", clause, surely=True) or re.match(_RUNS, clause))
        for line in re.split(_SENTENCE, re.sub(_TELLS, "", said))
        for clause in re.split(_CONJUNCTION, line)[added:]
        if not re.search(_QUESTION, line)
    )


def reports_no_change(text: str) -> bool:
    """Return True if a reply states that nothing was changed, and leaves nothing open.

    Its first sentence may also state that nothing has to change, or the last clause of its last one.
    """
    first = next(iter(re.split(_SENTENCE_END, text.strip(), maxsplit=1)))
    last = re.split(_SENTENCE_END, text.strip())[-1].strip(_STOPS)
    ends = re.search(rf"(?i){_SO}(?:{_NEEDLESS.removeprefix('(?i)')})(?: \w+)?\Z", last)
    stated = re.search(_NEEDLESS, first) or ends or _holds("unchanged", text)
    return bool(stated) and not (
        asks(text) or leaves_open(text) or claims_success(text) or announces(text, anywhere=True)
    )


def falls_short(text: str, task: str) -> bool:
    """Return True if a task names a percentage, and a reply names only lower ones."""
    asked, reached = ([float(each.replace(",", ".")) for each in re.findall(_PERCENT, one)] for one in (task, text))
    return bool(asked and reached) and max(reached) < max(asked)


def leaves_open(text: str) -> bool:
    """Return True if a reply lists what is left of its task, or its last paragraph says that something is."""
    return bool(re.search(_LEFT_LIST, text) or _holds("left", re.sub(_COMMANDS, "", _last_said(text.strip()))))


def claims_success(text: str) -> bool:
    """Return True if a reply begins with the claim that the task is done."""
    return re.match(_DONE, text) is not None


def breaks_off(text: str) -> bool:
    """Return True if a reply ends within a block of code."""
    return len(re.findall(_FENCE_MARK, text)) % 2 == 1


def after_answered(text: str) -> str | None:
    """Return what follows `ANSWERED` at the beginning of a reply; None if it begins otherwise."""
    said = re.match(_ANSWERED, text)
    return text[said.end() :] if said else None


def _clauses(said: str) -> Iterator[str]:
    """Yield the clauses that may order something. A sentence that asks for an answer is split only at its conjunctions."""
    for line in filter(str.strip, re.split(r"\n+|(?<=[.!?;])\s+", said)):
        marks = r"(?!)" if _begins("informs", line) else rf"{_CLAUSE}|{_LATER}"
        between = rf"{marks}|{_CONJUNCTION}"
        yield from (clause for clause in re.split(between, line) if clause.strip())


def _said(task: str) -> str:
    """Return the words of a task's author."""
    return _unquoted(task) if len(task) <= _WHOLE else _spoken(task)


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


def files_named(text: str) -> Sequence[str]:
    """Return what a text names in the form of a file with an ending, except in code and commands."""
    return re.findall(_FILE, re.sub(_COMMANDS, r" \g<word> ", text))


def telling_words(text: str) -> frozenset[str]:
    """Return the numbers and the long words of a text, by which another text can name it."""
    return frozenset(re.findall(_TELLING, text.lower()))


def lists_steps(text: str) -> bool:
    """Return True if a text has numbered steps, or boxes that are not ticked."""
    return any(re.search(pattern, text) for pattern in (_STEPS, f"(?m){_OPEN_BOX}"))


def announces(text: str, *, anywhere: bool = False) -> bool:
    """Return True if a reply ends with the announcement of a step.

    With `anywhere`, return True if any sentence of its last paragraph announces one.
    """
    plain = text[-_ENDING:].strip().rstrip("*_ ")
    if not plain:
        return False
    said = sentences(_last_said(plain) if anywhere else plain)
    return any(map(_announces, said if anywhere else said[-1:])) or plain.endswith((":", "："))


def sentences(text: str) -> Sequence[str]:
    """Return the sentences of a text; a line is one, too."""
    return [sentence for sentence in re.split(_SENTENCE_END, text) if sentence.strip()]


def _last_said(text: str) -> str:
    """Return the last paragraph; of a list, with the paragraph that begins it, unless that asks something."""
    before, _, last = text.rpartition("\n\n")
    lead = before.rpartition("\n\n")[2] if re.match(_ITEM, last) else ""
    return f"{lead}\n{last}" if lead and "?" not in lead else last


def _announces(sentence: str) -> bool:
    """Return True if a sentence, or its part after the last colon, begins as an announcement of a step."""
    said = re.split(r":\s+", sentence)[-1] if ": " in sentence else sentence
    return _announces_step(said) or (said != sentence and _announces_step(sentence))


def _announces_step(sentence: str) -> bool:
    said = sentence.strip().lstrip("*_#>- ").rstrip(" .!…。！।*_")
    step = _begins("announces", said)
    return step is not None and not re.match(_NEGATED, said[step.end() :]) and not re.search(_TO_A_PERSON, said)


def _begins(kind: str, clause: str, *, surely: bool = False) -> re.Match[str] | None:
    """Return the beginning of a clause if it has words of this kind; with `surely`, in English."""
    english = _pattern(kind, *_ENGLISH).match(clause)
    if english or surely:
        return english
    if kind != "announces":
        return _pattern(kind, *_OTHERS).match(clause)
    words = f" {clause} ".translate(_MARKS).lower()
    spoken = [name for name in _OTHERS if any(one in words for one in _parts(_ANNOUNCING[name]))]
    return next(filter(None, (_pattern(kind, name).match(clause) for name in spoken)), None)


@cache
def _parts(hints: str) -> Sequence[str]:
    return [hint.replace("_", " ") for hint in hints.split()]


def _holds(kind: str, text: str) -> bool:
    """Return True if words of this kind stand anywhere in a text."""
    return any(_pattern(kind, *names, anywhere=True).search(text) for names in (_ENGLISH, _OTHERS))


@cache
def _pattern(kind: str, *names: str, anywhere: bool = False) -> re.Pattern[str]:
    """Return the pattern of these languages, compiled on first use.

    Compiling all patterns would take a tenth of a one-shot; most texts need few of them.
    """
    patterns = "|".join(f"(?:{getattr(LANGUAGES[name], kind)})" for name in names)
    return re.compile(patterns if anywhere else rf"{_MARKER}(?:{patterns})", re.IGNORECASE)
