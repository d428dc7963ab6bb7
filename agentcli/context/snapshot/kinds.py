"""Kinds of claims for which a summary needs a record: a person's permission or wish, a success, a rule.

A sentence of any other kind only describes. Its words decide the kind, in the languages of most summaries. The lists
contain every word for the three meanings. A false match is harmless: the sentence is only compared more strictly with
the records.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from agentcli.context.ledger.standing_rules import sets_rule

Kind = Literal["permission", "success", "rule", "description"]


def kind_of(sentence: str) -> Kind:
    """Return the kind of claim that a sentence makes; the strictest kind if it makes several. A question makes none."""
    if _QUESTION.search(sentence):
        return "description"
    sentence = _CODE.sub("`…`", sentence)
    text = sentence.casefold()
    if _found(_PERMISSIONS, text) or _found(_PERSONS, text):
        return "permission"
    if sets_rule(sentence) or _found(_RULES, text):
        return "rule"
    return "success" if _found(_SUCCESSES, text) else "description"


def _found(words: tuple[str, ...], text: str) -> bool:
    return _pattern(words).search(text) is not None


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches words with any of these beginnings, or anywhere in scripts without spaces between
    words.
    """
    return re.compile("|".join(words))


_QUESTION = re.compile(r"[?？؟][\"'”’»)\]*_]*$")
_CODE = re.compile(r"`+[^`]+`+|\b\w*[a-z][A-Z]\w*|\b\w+_\w+|\S*/\S*")
"""Code, names and paths: their parts are not words of the sentence."""
_PERMISSIONS = (
    # English: a permission, a cancelled duty, a person's wish
    r"\b(?:(?:dis)?allow|permit|permission|(?:pre-?)?approv|authori[sz]|consent|agree(?:d|s|ment)?\b|accepta|accepted\b|okay|ok (?:to|with|for)\b|endors|sanction"
    r"|green.?light|thumbs.?up|go.?ahead|sign(?:ed|s)?.?off|blessing|entitle|clearance|cleared (?:to|for)|carte blanche|free(?:ly)? (?:to|hand)|at liberty"
    r"|waiv|wav(?:ed|es) through|exempt|lift(?:ed|s)|revok|relax(?:ed|es)|suspended|dispens|objection|no objection|fine (?:to|with|by|for)\b|all right (?:to|with)"
    r"|unattended|unsupervised|autonomous|on (?:its|your|their|his|her) own|of its own accord|self-serve|at (?:will|any time|your discretion)|discretion"
    r"|optional|safe to|up to (?:the agent|you)|trust(?:s|ed)?\b|want(?:s|ed)?\b|wish(?:es|ed)?\b|prefer|insist|desire|instruct(?!ions?\b)|request(?:s|ed) (?:that|to|for)"
    r"|(?:no|not|nothing|never|n't|longer)(?: \w+){0,2} (?:need|requir|necessar|mandatory|confirm|permission|approval|review|sign-off|ask|question)"
    r"|without (?:\w+ ){0,2}(?:ask|confirm|review|question|approv|permission|check|prompt|consult|notif|further|backup|test)"
    r"|may (?:be|now|also|then|freely|\w+ (?:be|the|all|any|it)\b)|may \w+\b(?!.*\bbe cause)|can (?:now |also |simply |freely |safely |just )?be \w+|can (?:go|happen|wait|now)\b)",
    # German
    r"\b(?:erlaub|gestatte|darf\b|dürfen|genehmig|einverstanden|zugestimmt|zustimm|stimmt\b.*\bzu\b|freigab|freigegeben|freigabe|bewillig|zulässig|zugelassen|berechtig|befugt|ermächtig"
    r"|verzichte|entfällt|entfallen|aufgehoben|hebt\b.*\bauf\b|nicht (?:mehr )?(?:nötig|notwendig|erforderlich)|kein\w*(?: \w+)? (?:mehr )?(?:nötig|notwendig|erforderlich|rückfrage|freigabe|genehmigung|prüfung)|brauch\w* kein|ohne (?:rückfrage|nachfrage|zu fragen|prüfung|freigabe|bestätigung|genehmigung)"
    r"|möchte|wünsch|will\b|bevorzug|besteht darauf|in ordnung|selbständig|selbstständig|eigenmächtig|können\b.*\bwerden|kann\b.*\bwerden|nach belieben|jederzeit|erledigt der agent|gern\b|nicht (?:mehr|länger)|kein problem|unproblematisch|vereinbart|abgesprochen|akzeptier|entbehrlich|überflüssig|freiwillig|freie hand|ausgenommen|gelockert)",
    # French
    r"(?:\b(?:autoris|permis(?:e|es)?\b|permet|approuv|accept(?:e|ent|é|ée|és|ées)\b|accord(?:e|ent|é|ée|és)\b|consent|d'accord|validé|donné son|feu vert|habilit|admis|toléré|libre\b|librement|dispens|levé|inutile|facultati|exempt"
    r"|n'(?:est|ont|a|y a|ont) (?:plus|pas) (?:\w+ ){0,2}(?:nécessaire|besoin|à\b|requis|obligatoire)|plus besoin|pas besoin|sans (?:demander|confirm|relecture|validation|autorisation|question|vérif)"
    r"|souhait|veut\b|voudrait|préfèr|exige|ne? [^.]{0,40}\bplus\b|convenu|aucun problème|sans problème|toute? liberté|à volonté|peu(?:t|vent)\b|pourr(?:a|ont)|seront?\b.*\bsi\b))",
    # Spanish, Portuguese, Italian
    r"\b(?:permi[tst]|autoriz|aprob|aproba|consinti|consient|acept|acuerd|conform|visto bueno|luz verde|da por buen|levant|exim|opcional|no (?:hace|hará) falta|ya no|acordad|sin problema|ningún problema|a voluntad|autónom|lícit|sin (?:preguntar|confirm|revis|permiso|aprob|pedir)|puede|pueden|podrá|está bien|se admite|libre\b|libremente|quiere|prefiere|desea|exige|pidi)",
    r"\b(?:autoriza|autorizad|aprov|consent|concord|aceit|acord|aval|luz verde|dispens|levant|isent|opciona|não (?:é|são) (?:mais )?(?:precis|necess|obrigat)|já não|mais não|combinad|sem problema|nenhum problema|à vontade|autonom|sem (?:pergunt|confirm|revis|permiss|aprov|pedir)|pode(?:m|rá)?\b|está bem|é aceit|livremente|quer\b|prefere|deseja|exige|pediu)",
    r"\b(?:autorizz|consentit|consent|permess|approv|accett|accord|via libera|nulla osta|esent|revocat|facoltativ|opzional|non (?:occorre|serve|è (?:più )?(?:necessari|richiest))|non (?:è|sono) più|senza (?:chied|conferm|revision|permess|approv|verific)|può|possono|si può|va bene|lecit|non [^.]{0,30}\bpiù\b|concordat|nessun problema|a piacere|in autonomia|liber[ao]|liberamente|vuole|preferisce|desidera|esige|chiest)",
    # Dutch, Swedish, Polish, Turkish
    r"\b(?:toegestaan|toestemming|goedgekeurd|goedkeur|akkoord|mag\b|mogen|gemachtigd|bevoegd|opgeheven|vrijgesteld|vervalt|niet (?:meer )?(?:nodig|vereist|verplicht)|geen\b.*\b(?:nodig|vereist|bezwaar)|hoeft?\b|zonder (?:te vragen|toestemming|bevestiging|controle|review|overleg)|kunnen? worden|kan\b.*\bworden|prima\b|vrij(?:elijk)?\b|wil\b|wenst|verkiest|gebruikelijk|optioneel|niet (?:meer|langer)|hoeven\b|zelfstandig|op eigen|naar eigen|eigener|overgeslagen|overslaan|vrijgegeven|vrijgave|instem|ingestemd|afgesproken|aanvaard|accepte|geaccepteerd|oké|in orde|ontheff|losgelaten|versoepel|achterwege|vindt het goed|gerust\b|te allen tijde|altijd goed|zonder\b|geen\b.*\bmeer\b|geen probleem|kan\b|kunnen\b)",
    r"\b(?:tillåt|tillstånd|godkän|får\b|behörig|samtyck|medger|gått med på|går med på|upphäv|slopa|behöv\w* (?:inte|ingen|inga)|krävs (?:inte|inga|ingen)|inte (?:längre )?(?:nödvänd|krävs|behövs)|ingen\b.*\b(?:krävs|behövs)|utan (?:att fråga|fråg|godkännande|granskning|bekräft)|kan \w+s\b|inte fler|inte mer|inga problem|går bra|i sin ordning|fritt\b|vill\b|önska|föredra|frivillig|valfri|inte längre|självständig|på egen hand|hoppas? över|överens|accepter|okej|undanta|befria|lätta[ts]|efter behag|när som helst|slipp|lov\b|utan\b|ska kunna|är fri|fria\b|räcker|ingen\b|inga\b)",
    r"(?:\b(?:zezw|pozwol|pozwal|zgod|zgadza|zatwierdz|dozwol|dopuszcz|akcept|upoważn|uprawn|uchyl|znies|zwoln|opcjonal|nie (?:trzeba|wymaga|musi|potrzeb|jest (?:już )?(?:potrzeb|wymag|koniecz))|bez (?:pyta|potwierdz|przegląd|zgody|sprawdz|pozwol)|można|wolno|może być|mogą być|swobodn|chce\b|woli\b|życzy)|już nie\b)",
    r"(?:\b(?:izin|izni|onay|kabul|rıza|yetki|serbest|gerekmiyor|gerekmez|gerekli değil|gerek yok|gerektirm|sorun değil|sormadan|sorulmadan|sakınca|istiyor|ister\b|tercih|isteğe bağlı|muaf|kaldırıldı)|(?:abilir|ebilir|ılabilir|ilebilir|ünebilir|unabilir|ınabilir))",
    # Russian, Arabic, Hebrew
    r"(?:разреш|позвол|дозвол|одобр|согла[сш]|утвержд|допус[тк]|можно\b|вправе|уполномоч|снят[оаы]?\b|снял|отмен|освобожд|необязат|по желанию|не (?:нужн|требу|обязат|надо|возража)|больше не|без (?:спрос|подтвержд|провер|соглас|разреш|вопрос|ревью|обзор)|мо(?:жет|гут) быть|хочет|хотел|желает|просит|просил|предпочита|настаива)",
    r"(?:مسموح|يسمح|سمح|وافق|موافق|يجوز|إذن|أذن|مخول|صلاحية|مقبول|لا (?:حاجة|داعي|يلزم|يشترط|مانع|بأس|تحتاج|يحتاج)|لم (?:تعد|يعد)|دون (?:سؤال|إذن|مراجعة|تأكيد|موافقة|الرجوع)|بدون|قابل|يمكن|ممكن|اختيار|يريد|يفضل|يرغب|طلب|ألغ|رفع)",
    r"(?:מותר|אישר|מאשר|אישור|הסכים|הרשא|רשאי|אין צורך|לא נדרש|ללא (?:שאלה|אישור|בדיק)|בלי|ניתן|אפשר|רוצה|מעדיף|ביקש)",
    # Greek, Hindi, Vietnamese, Indonesian
    r"(?:επιτρ[εέ]π|άδεια|εγκρ[ιί]|συμφων|συναιν|αποδ[εέ]χ|δεν (?:χρειάζ|απαιτ)|χωρίς|μπορ(?:εί|ούν)|προαιρετ|θέλει|προτιμ|ζήτησε|अनुमति|स्वीकृ|सहमत|मंज़?ूर|ज़रूरत नहीं|बिना|सकता|सकते|चाहता|चाहते|được phép|cho phép|đồng ý|chấp thuận|không cần|có thể|muốn|diizinkan|izinkan|setuju|disetujui|tidak perlu|tanpa|boleh\b|dapat\b|ingin\b)",
    # Japanese, Chinese, Korean
    r"(?:許可|許され|許し|承認|承諾|同意|了承|了解を得|合意|認め|賛成|任され|任せ|不要|省略|免除|解除|外した|撤廃|緩和|自由に|よい(?:。|$|こと)|いい(?:。|$|と)|構わ|かまわ|差し支え|問題(?:は)?な|できる|可能|てもよ|ても良|なくて(?:も)?(?:よ|い|良)|必要(?:は|が)?な|ずに|なしで|せずに|希望|望ん|望む|求め|依頼|好む|任意)",
    r"(?:允许|允許|许可|許可|批准|同意|认可|認可|赞成|贊成|授权|授權|准许|准許|可以|可(?:直接|自由|随时|隨時|任意|自行)|不再|不必|无需|無需|无须|無須|不用|免除|免去|取消|解除|放开|放開|豁免|不需要|不要求|没关系|沒關係|没有问题|沒有問題|没问题|可选|可選|自行|随意|隨意|希望|想要|要求|偏好|愿意|願意)",
    r"(?:허용|허락|허가|승인|동의|찬성|인정|권한|면제|해제|생략|필요(?:가|는|도)?\s?없|필요하지\s?않|않아도|없이|괜찮|상관없|무방|가능하|해도\s?(?:된|되|좋)|도\s?된다|수\s?있다|자유롭|원한다|원합|원함|선호|바란다|요청|선택 사항|자율)",
)
_PERSONS = (
    r"\b(?:the|our|per|as|a|this) (?:user|customer|client|owner|maintainer|boss|manager|operator|reviewer|team|team lead|lead|admin\w*)(?:'s|s)?\b(?! (?:messages?|prompts?|input|entries|entry|content|record|id|name|agent|interface|file|config))|^user\b|\bagent\s*:|\b(?:note|message|memo) (?:to|for) (?:the )?(?:agent|assistant|model|next)|\b(?:next|other) agent",
    r"\b(?:der|dem|unser|vom) (?:nutzer|benutzer|anwender|kunde|auftraggeber|besitzer|eigentümer|chef|team)|l['’]utilisateur|\ble (?:client|propriétaire)|l['’](?:équipe|agent)|à l['’]agent|\b(?:el|del|al) (?:usuario|cliente|propietario|agente|equipo)|\bl['’]utente|\bil (?:cliente|proprietario|team)|all?['’]agente|per l['’]agente|\bo (?:usuário|utilizador|cliente|dono|agente)|\bde (?:gebruiker|klant|eigenaar|agent)|\banvändaren|\bkunden\b|\bagenten\b|\bużytkownik|\bklient\b|\bkullanıcı|\bmüşteri|hinweis an den|an den agenten|пользовател|заказчик|владел|агент|المستخدم|العميل|المالك|הלקוח|המשתמש|χρήστη|ユーザー|利用者|依頼者|顧客|オーナー|エージェント|用户|用戶|使用者|客户|客戶|代理|사용자|고객|소유자|에이전트",
)
_RULES = (
    r"\b(?:always|never|must|mustn['’]t|from (?:now|here|this point) on|from here|going forward|henceforth|in (?:the )?future|every time|whenever|at all times|any more\b|anymore|by default,? (?:all|every)|under no|do not|don['’]t)\b|\b(?:skip|ignore|bypass|disregard|disable|suppress)\b(?=.*\b(?:review|check|test|rule|confirm|hook|sandbox|warning|lint|instruction)s?\b)|\belevated rights\b",
    r"\b(?:immer|nie|niemals|stets|künftig|zukünftig|fortan|ab (?:jetzt|sofort)|von nun an|toujours|jamais|désormais|dorénavant|siempre|nunca|a partir de ahora|en adelante|de ahora en|sempre|doravante|daqui em diante|a partir de agora|mai\b|d'ora in poi|in futuro|altijd|nooit|voortaan|vanaf nu|alltid|aldrig|hädanefter|framöver|från och med nu|zawsze|nigdy|odtąd|od teraz|her zaman|asla|bundan (?:sonra|böyle)|artık)\b",
    r"(?:всегда|никогда|отныне|впредь|с этого момента|теперь можно|دائما|دائمًا|أبدا|أبدًا|من الآن|بعد الآن|بعد اليوم|תמיד|לעולם|מעכשיו|常に|必ず|今後|以後|以降は|これから(?:は)?|決して|一律|总是|總是|始终|始終|从(?:现在|此)|從(?:現在|此)|今后|今後|以后|以後|永远|永遠|一概|항상|언제나|절대|앞으로|이제부터|이후로)",
    r"(?:überspring|omit[ei]r?\b|omite\b|salta(?:re)?\b|пропус|выполняй|удаляй|スキップ|飛ばし|こと。?$|跳过|跳過|略过|忽略|건너뛰|생략하)",
)
_SUCCESSES = (
    r"\b(?:pass(?:es|ed|ing)?|succe(?:ed|ss)\w*|green|works?\b|working (?:as|fine|correctly|now)|worked|fixed|resolved|solved|done\b|complete[ds]?\b|completed|finished|deployed|released|merged|shipped|verified|confirmed|all good|no (?:errors?|failures?|issues?))\b|✅|\[done\]",
    r"\b(?:bestanden|erfolgreich|behoben|gelöst|erledigt|fertig|abgeschlossen|funktioniert|grün|réuss\w*|corrig\w+|résolu\w*|terminé\w*|fonctionne\w*|passent?\b|corregid\w*|resuelt\w*|terminad\w*|funciona\w*|pasan?\b|corrigid\w*|resolvid\w*|concluíd\w*|passam\b|corrett\w+|risolt\w+|completat\w+|funzion\w+|passano\b|geslaagd|opgelost|klaar\b|voltooid|werkt\b|löst\b|klar\b|fungerar|godkända tester|naprawion\w*|rozwiązan\w*|ukończon\w*|działa\w*|przechodz\w*|düzeltildi|çözüldü|tamamlandı|çalışıyor|geçti)\b",
    r"(?:исправл|решен|заверш|готов|проход|работает|успешн|نجح|ناجح|أصلح|تم (?:إصلاح|حل)|يعمل|اكتمل|成功|修正済|直った|直り|解決|完了|通った|通る|合格|动作正常|修复|修復|解决|解決|完成|通过|通過|正常|성공|해결|완료|통과|고쳤|수정되|작동)",
)
