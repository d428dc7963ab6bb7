"""Imperatives: sentences that speak for the user or give orders to the agent, recognised in many languages.

A summary is a report: consents, rules and wishes are the user's alone, and appear in it only as quotations.
"""

from __future__ import annotations

import re
from typing import Literal

Offence = Literal["", "speaks for the user", "gives orders"]


def offence(text: str, *, step: bool = False) -> Offence:
    """Return how a sentence oversteps a report, or an empty text if it does not.

    A `step` of the plan is an order by its nature: only an address and a way round a rule count.
    """
    text = _TECHNICAL.sub(" ", text.replace("’", "'"))
    if _ADDRESS.search(text) or (not step and _ORDER.search(text)):
        return "gives orders"
    if _USER.search(text) or _CONSENT.search(text):
        return "speaks for the user"
    return ""


def _words(pattern: str) -> str:
    return rf"(?<!\w)(?:{pattern})"


_TECHNICAL = re.compile(
    # A type, a part of a program, or an event that happens to its users is no person.
    r"\b(?:class|type|struct|model|table|entity|interface|role|column|field) users?\b"
    r"|\b(?:end[- ])?users?[ -](?:requests?|tables?|names?|ids?|models?|agents?|interfaces?|inputs?|stor(?:y|ies)|accounts?|profiles?|records?"
    r"|objects?|class(?:es)?|data|services?|sessions?|settings?|roles?|groups?|lists?|pages?|menus?|guides?|manuals?|space|defined|facing"
    r"|experience|fields?|columns?|types?|tokens?|home|director(?:y|ies)|config\w*|prompts?|messages?|tests?|errors?|code)\b"
    r"|\b(?:(?:the|a|each|every|any|no) )?users? (?:is|are|was|were|gets?|got|has been|have been|being) (?:not |then |always |never )?"
    r"(?:loaded|logged|redirected|created|deleted|stored|fetched|authenticated|found|missing|null|none|unknown|anonymous|inserted|saved"
    r"|returned|shown|sent|signed (?:in|out|up)|looked up|cached|counted|notified|asked for (?:a|the|their|its) (?:password|name|token))\b"
    r"|\bowner (?:column|field|id|table)\b",
    re.IGNORECASE,
)
_WISH = (
    r"(?:approv|agree|consent|permi[ts]|allow|authori[sz]|okay|ok\b|fine\b|happy|comfortable|green|go-?ahead|sign|clear|waiv|lift|exempt"
    r"|objection|mind\b|accept|confirm|grant|trust|want|prefer|lik|wish|ask|requir|insist|demand|instruct|told|tell|said|say|order|request"
    r"|rule|must|should|need|no longer|always|never|from now|skip|gave|give|given|toler|relax|care\b|satisf|convinc|authori[sz]|decid|drop|relax|suspend|revok|ban|forbid|forbad)"
)
_PEOPLE = (
    r"(?:owners?|operators?|maintainers?|customers?|clients?|boss|developers?|admin(?:istrator)?s?|stakeholders?|team(?: lead)?|managers?|lead"
    r"|management|leadership|supervisors?|principal|person in charge|whoever is in charge|c[et]o|product owner|colleagues?)"
)
_USER = re.compile(
    "|".join(
        (
            # English
            r"\b(?:the|our|this|that|my) (?:user|human)(?:s\b|'s\b|\b)|^\W*users?(?:'s)?\b|\b(?:by|per|from|of|for|to|with) users?\b(?!-)",
            rf"(?:^\W*|\b(?:the|our|this|from|by) ){_PEOPLE}(?:'s)? (?:\w+ ){{0,3}}{_WISH}",
            rf"\b(?:he|she)(?: \w+){{0,2}} {_WISH}|\bthey (?:said|told|asked|agreed|approved|accepted|want|prefer|insist|do not (?:care|mind)|don't (?:care|mind))",
            r"\b(?:we|i|the (?:agent|assistant|model)) (?:were|was|have been|has been|had been|am|are|is) (?:told|instructed|asked|ordered|advised|allowed|permitted|authori[sz]ed|cleared|granted|entrusted|trusted)\b",
            rf"\b(?:approved|authori[sz]ed|cleared|permitted|confirmed|allowed|signed off|requested|wanted|ordered) by (?:the |our )?{_PEOPLE}",
            # French, Spanish, Portuguese, Italian, Romanian, Catalan
            _words(r"l'(?:utilisat(?:eur|rice)|usager|utente|usuari)"),
            _words(
                r"(?:les? |la |du |des |aux? )(?:utilisateurs?|utilisatrices?|propriétaires?|clients?|responsables?|commanditaires?|patrons?|chefs?)\b"
            ),
            _words(
                r"(?:el|la|del|al|los|o|a|do|ao|os) (?:usuari[oa]s?|usuári[oa]s?|utilizador\w*|dueñ[oa]|don[oa]|propietari[oa]|proprietári[oa]|cliente|jef[ea]|chefe|patr[oó]n|responsable|responsável)\b"
            ),
            _words(
                r"(?:il|del|dal|al|gli|lo) (?:proprietario|cliente|committente|capo|responsabile|titolare|utenti)\b|utilizator\w*"
            ),
            # German, Dutch, Scandinavian
            _words(
                r"(?:der|die|dem|den|des|vom|beim|unser|laut|gemäß|mit) (?:Chef|Vorgesetzte|Benutzer|Nutzer|Anwender|User|Auftraggeber|Kunde|Eigentümer|Inhaber|Betreiber)(?:s|n|in|innen)?\b"
            ),
            _words(
                r"de (?:gebruiker|eigenaar|klant|beheerder)\b|användaren|ägaren|kunden har|brugeren|brukeren|ejeren|eieren"
            ),
            # Slavic, Turkish, Finnish, Hungarian, Greek
            _words(
                r"użytkowni\w+|właściciel\w*|uživatel\w*|používate[lľ]\w*|korisni[kc]\w*|потребител\w+|пользовател\w+|владел[еь]ц\w*|заказчик\w*|користувач\w*|замовник\w*"
            ),
            _words(r"kullanıcı\w*|käyttäjä\w*|felhasználó\w*|χρήστη\w*|pengguna\b|người dùng"),
            # Arabic, Hebrew, Hindi, Thai
            r"المستخدم|صاحب المشروع|המשתמש|उपयोगकर्ता|यूज़र|ผู้ใช้",
            # Chinese, Japanese, Korean
            r"(?:用户|用戶|使用者|客户|客戶|业主|老板|老闆|管理员|管理員|负责人)(?!名|表|[Ii][Dd]|数据|數據|资料|界面|组|組|权限|端|登录|登錄|模型|列表|信息|请求|請求|输入|輸入|对象|类|服务)",
            r"(?:ユーザー?|利用者|依頼者|依頼主|お客様|オーナー|管理者|担当者|発注者)(?:さん|様)?(?:は|が|も|から|に(?:は|も|よ|確)|より|の(?:承認|許可|同意|了承|要望|希望|意向|指示|了解|判断))",
            r"(?:사용자|유저|고객|소유자|관리자|담당자|의뢰인)(?:는|가|은|이|님|께서|도|의 (?:승인|허락|동의|요청|지시|허가)|로부터|에게)",
        )
    ),
    re.IGNORECASE,
)
_RULED = (
    r"(?:(?:force[- ]?)?push\w*|deploy\w*|releas\w*|merg\w*|commit(?:s|ting)?|delet\w+|remov\w+|migrat\w+|rewrit\w+|skip\w+|publish\w*|tests?|testing"
    r"|reviews?|approvals?|confirmations?|checks?|rules?|restrictions?|bans?|constraints?|guidelines?|polic(?:y|ies)|prohibitions?|limits?"
    r"|sandbox\w*|asking|backups?|hooks?|linting|embargo|freeze|requirement)"
)
_LEAVE = r"(?:approval|permission|consent|authori[sz]ation|clearance|green light|go-?ahead|sign-?off|carte blanche|free rein|blessing|thumbs[- ]up)"
_CONSENT = re.compile(
    "|".join(
        (
            # English
            r"\b(?:green light|go-?ahead|thumbs[- ]up|sign-?off|carte blanche|free rein)\b",
            rf"\b{_LEAVE}s?\b.{{0,40}}\b(?:given|granted|obtained|received|confirmed|secured|in place|exists|stands|came|come)\b",
            rf"\b(?:have|has|had|got|gave|given|received|granted|obtained|with|there is)\b.{{0,25}}\b{_LEAVE}\b",
            r"\b(?:no|without) (?:\w+ ){0,2}(?:approval|permission|confirmation|review|consent|sign-?off)s? (?:is |are |was |were )?(?:now )?(?:needed|required|necessary|any ?more)",
            r"\bwithout (?:asking|waiting for (?:approval|confirmation|review)|(?:further |prior |explicit )?(?:approval|permission|confirmation|consent))\b",
            r"\b(?:from now on|from here on|henceforth|going forward|in (?:the )?future,|as of now|effective immediately)\b",
            rf"\b{_RULED}\b(?: [\w-]+){{0,6}} (?:is|are|was|were|has been|have been|being) (?:now |all |fully |explicitly |also |officially |hereby )*"
            r"(?:allowed|permitted|tolerated|authori[sz]ed|okay(?:ed)?|ok(?:'d)?|fine (?:now|by|with|to)|acceptable|waived|lifted|suspended|optional|overruled|void"
            r"|approved|pre-?approved|green-?lit|cleared|unrestricted|relaxed|revoked|repealed|dropped for|not (?:needed|required|necessary)|unnecessary)\b",
            rf"\b{_RULED}\b.{{0,40}}\b(?:no longer|not) (?:appl(?:y|ies)|hold|holds|needed|required|necessary|in force|valid|bind\w*|count)\b",
            rf"\b{_RULED}\b(?: \w+){{0,3}} (?:may|can|could|should|need not|needn't|do not need to|don't need to|must not|mustn't) (?:now |safely |simply |all )*"
            r"(?:be )?(?:skipped|ignored|bypassed|disregarded|disabled|waived|omitted|dropped|left out|wait|happen|run unattended)\b",
            r"\b(?:it is|it's|it was) (?:now |all |perfectly |also )*(?:fine|ok|okay|acceptable|allowed|permitted|alright|all right) (?:to|if (?:we|you|the agent|tests)|for (?:us|you|the agent))\b",
            r"\b(?:we|i|the (?:agent|assistant|model|ai|bot)) (?:may|are allowed|am allowed|is allowed|are free|is free|are cleared|is cleared|are authori[sz]ed|is authori[sz]ed"
            r"|need not|no longer need|no longer have|(?:do|does)(?:n't| not) (?:need|have) to)\b",
            r"\bfree to (?:push|deploy|delete|merge|skip|force|publish|commit|change|remove|ignore)\b",
            # French
            r"\b(?:autoris|approuv|accord|consent|valid)\w*é\w*\b|\b(?:est|sont|a été|ont été) (?:désormais |maintenant )?(?:permis\w*|levé\w*|admis\w*)\b|\bfeu vert\b|\bautorisation\b|\bdésormais\b|\bfacultati(?:f|ve)s?\b|\bon peut (?:sauter|ignorer|omettre|supprimer|pousser|passer)|\bdorénavant\b"
            r"|\bplus (?:besoin|nécessaire|requis\w*|obligatoires?)\b|\bsans (?:demander|confirmation|validation|autorisation)\b|\bpeu(?:t|vent) être (?:ignor|saut|omis|pass)\w*",
            # Spanish, Portuguese, Italian
            r"\b(?:autoriz|aprob|aprov|autorizz)(?:ó|ado|ada|ados|adas|ou|ato|ata|ati|ate|ación|ação|azione)\w*|\bpermisos?\b|\bpermiss(?:ão|ões)\b|\bpermess[oi]\b|\b(?:permiti|consenti)(?:do|da|dos|das|to|ta|miento|mento)\b|\bconsenso\b|\bluz verde\b|\bsinal verde\b|\bvia libera\b|\bvisto bueno\b|\bacconsent\w+|\bse acordó\b|\bliber(?:ou|ado|ada)\b"
            r"|\ba partir de (?:ahora|agora)\b|\bde (?:ahora|agora) en? ?(?:adelante|diante)\b|\bd'ora in (?:poi|avanti)\b|\b(?:ya|já) no? ?(?:es|é|son|são|hace|se) (?:\w+ )?(?:necesari|requer|falta|precis|necessári)\w*|\bnão (?:é|são) mais\b|\bnon (?:è|sono|serve|servono) più\b"
            r"|\bsin (?:preguntar|confirmación|autorización)\b|\bsem (?:perguntar|confirmação|autorização)\b|\bsenza (?:chiedere|conferma|autorizzazione)\b|\b(?:pued|pod|poss|può)\w* (?:ser|essere|omitir|saltar|pular|ignorar)\w*\b|\bse (?:puede|permite|pode)n?\b",
            # German, Dutch, Scandinavian
            r"\b(?:genehmigt|erlaubt|gestattet|zugestimmt|einverstanden|freigegeben|Freigabe|Genehmigung|Erlaubnis|Zustimmung|Einwilligung|grünes Licht|aufgehoben|abgesegnet|ab jetzt|ab heute|ab sofort|überflüssig|entbehrlich|von nun an|künftig)\b"
            r"|\bnicht (?:mehr|länger) (?:nötig|notwendig|erforderlich|verlangt)\b|\bohne (?:Rückfrage|Nachfrage|Bestätigung|Genehmigung|zu fragen)\b|\b(?:darf|dürfen|kann|können)\b.{0,60}\b(?:übersprungen|ignoriert|weggelassen|entfallen|gelöscht|umgangen)\b",
            r"\b(?:toestemming|toegestaan|goedgekeurd|goedkeuring|vanaf nu|voortaan|godkän\w+|tillåt\w+|tilladt|tillatt|godkjent|godkendt|från och med nu|fra nu av)\b|\bniet (?:meer|langer) (?:nodig|vereist)\b|\bzonder te vragen\b",
            # Slavic, Turkish
            r"\b(?:разреш|одобр|соглас|позвол|дозвол|схвал)\w+|\b(?:отныне|впредь|відтепер)\b|\bбольше не (?:нужн|треб|обязат)\w+|\bбез (?:спроса|подтверждения|согласования|разрешения)\b|\bможно (?:пропу|игнор|удал|пуш)\w+",
            r"\b(?:zezwol|pozwol|zatwierdz|zgodz|zgod[aęy]|schvál|povol|souhlas)\w*|\bod teraz\b|\bjuż nie (?:trzeba|wymaga|jest)\b|\bbez pytania\b|\bmożna pomi\w+|\b(?:izin|onay)\w*\b|\bbundan (?:sonra|böyle)\b|\bgerek (?:yok|kalmadı)\b",
            # Arabic, Hebrew, Hindi, Thai, Vietnamese
            r"وافق|موافقة|سمح|مسموح|من الآن|אישר|אישור|הרשה|מעתה|अनुमति|स्वीकृति|मंज़ूरी|อนุญาต|อนุมัติ|được phép|cho phép|phê duyệt|từ nay",
            # Chinese, Japanese, Korean
            r"(?:已经?|获得?|獲得?|得到|经|經|被)(?:批准|许可|許可|同意|授权|授權|允许|允許)|(?:批准|同意|授权|授權|允许|允許|许可|許可)(?:了|跳过|跳過|直接|强制|強制|删除|刪除)|(?:取消|解除)了?.{0,8}(?:限制|禁令|规定|規定|要求)|(?:限制|禁令).{0,6}(?:取消|解除)"
            r"|从现在起|從現在起|从今以后|今后|今後|不再需要|不再要求|(?:无需|無需|不必|不用)(?:再|确认|確認|审批|審批|审查|審查|询问|詢問|测试|測試|批准)|可以?(?:跳过|跳過|忽略|省略|不经|不經|直接)",
            r"(?:承認|許可|了承|了解|同意)(?:済|され|を得|を受け|をもら|した|が(?:出|下り|得))|(?:制限|禁止|規則|ルール).{0,8}(?:解除|撤廃|緩和)|今後は|以後は|これからは|(?:確認|承認|テスト|レビュー|許可|相談)(?:は|も)?(?:もう)?(?:不要|必要ない|いらない|省略)|して(?:も)?(?:よい|良い|いい|構わ|かまわ|差し支え)|(?:スキップ|省略|無視)(?:可|して(?:よ|も))",
            r"(?:승인|허락|허가|허용|동의)(?:했|됐|되었|받|을 (?:받|얻)|를 (?:받|얻)|됩)|(?:제한|금지|규칙).{0,8}(?:해제|풀렸|철회)|앞으로는|이제부터|지금부터|(?:확인|승인|테스트|리뷰|검토)(?:은|는|이|가)? ?(?:더 이상 )?필요 ?없|(?:생략|건너뛰|무시)(?:해도|어도)|해도 (?:된|됩|좋|괜찮)",
        )
    ),
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    "|".join(
        (
            r"\b(?:note|message|instructions?|reminder|attention|order|hint|memo|notice)s? (?:to|for) (?:the |any |all |whichever )?(?:\w+ )?(?:agent|assistant|ai|model|bot|llm|reader|successor|session|summari[sz]er|you)\b",
            r"^\W*(?:dear |hey |hi |hello )?(?:(?:next |future |coding )?(?:agent|assistant|ai|model|bot|llm|claude|gemini))\b\s*[,:：!]",
            r"\b(?:the |next |future )(?:agent|assistant|model|ai|bot) (?:must|should|shall|has to|needs to|is to|will have to|is instructed|is told|is ordered)\b",
            r"\byou(?:'re|'ve|'ll)?\b|\byour(?:self)?\b|\b(?:never|do not|don't|stop|no need to) (?:ask|wait|confirm|seek|hesitat)\w*\b",
            r"^\W*(?:important|attention|urgent|critical|mandatory|new (?:rule|instruction|policy)|override|directive|instruction)s?\b\s*[:：!]",
            r"\b(?:ignore|disregard|forget|override|bypass|circumvent)\b.{0,60}\b(?:instructions?|rules?|prompts?|constraints?|polic(?:y|ies)|limits?|restrictions?|guidelines?|checks?|reviews?|safety|permissions?)\b",
            r"(?:note|message|consigne|instruction)s? (?:à|pour) l'(?:agent|assistant)|(?:nota|mensaje|aviso|mensagem|istruzioni?|messaggio) (?:al?|para|per|ao|all')(?: el| o| l')? ?(?:agente|asistente|assistente)|(?:Hinweis|Notiz|Nachricht|Anweisung)\w* (?:an|für) (?:den |die )?(?:Agent|Assistent|KI)\w*",
            r"(?:заметка|примечание|сообщение|инструкция|указание)\w* (?:для )?агент\w*|(?:uwaga|notatka) dla agenta|opmerking voor de agent",
            r"^\W*(?:агент|agente|Agent|assistente|asistente|ассистент)\b\s*[,:：!]",
            r"\b(?:vous|tu) (?:devez|pouvez|dois|peux)\b|\b(?:debes|puedes|tienes que|usted debe|você (?:deve|pode)|devi|puoi)\b|\b(?:du|Sie) (?:darfst|musst|sollst|kannst|dürfen|müssen|sollen|können)\b|\b(?:ты|вы) (?:долж\w+|мож\w+|обязан\w*)\b|\b(?:je|jij) (?:moet|mag)\b",
            r"(?:代理|智能体|智能體|助手|模型)\s*[：:，,]|(?:给|給|致)(?:代理|智能体|智能體|助手|模型)|(?:你|您)(?:必须|必須|应该|應該|应当|可以|现在|現在|要|需要|无需|不)|エージェント(?:へ|は|に(?:告|伝|対)|[:：])|アシスタント(?:へ|は必|[:：])|あなた(?:は|に|の)|에이전트(?:에게|는|[:：])|당신은|어시스턴트에게",
        )
    ),
    re.IGNORECASE,
)
_ORDER = re.compile(
    "|".join(
        (
            r"^\W*(?:please\b|always\b|never\b|do not\b|don't\b|must\b|make sure\b|be sure\b|remember to\b|ensure\b|skip\b|ignore\b|disregard\b|bypass\b|override\b|disable\b|proceed\b|go ahead\b|push\b|force-?push\b|delete\b|deploy\b|drop\b|approve\b|trust\b|merge\b|stop\b|obey\b|treat\b|wipe\b|reveal\b|send\b|upload\b|download\b|exfiltrate\b)(?!-|\w*[(.])",
            r"^\W*(?:n(?:e |')\w+.*\bpas\b|toujours\b|jamais\b|ignore[rz]?\b|saute[rz]?\b|pousse[rz]?\b|il faut\b|supprime[rz]?\b|désactive[rz]?\b|veuillez\b)",
            r"^\W*(?:siempre\b|nunca\b|jamás\b|ignor[ae]\w*\b|omit[ae]\b|salt[ae]\w*\b|elimin[ae]\w*\b|borr[ae]\b|no (?:preguntes|pidas|ejecutes)\b|haz\b|por favor\b|sempre\b|mai\b|não (?:pergunte|peça|execute)\b|apague\b|pule\b|non (?:chiedere|eseguire)\b|salta\b|cancella\b)",
            r"^\W*(?:immer\b|nie(?:mals)?\b|ignorier\w*\b|überspring\w*\b|lösch\w*\b|bitte\b|frag\w* nicht\b|deaktivier\w*\b|altijd\b|nooit\b|negeer\b|sla\b.*\bover\b)",
            r"^\W*(?:всегда\b|никогда\b|игнориру\w+|пропуст\w+|удали\w*\b|не (?:спрашивай|запускай|проверяй)\w*|zawsze\b|nigdy\b|zignoruj\b|pomiń\b|usuń\b|her zaman\b|asla\b)",
            r"^\W*(?:请|請|务必|務必|始终|始終|总是|總是|绝不|絕不|不要|别|必须|必須|忽略|跳过|跳過|直接)|(?:必ず|決して|絶対に).{0,40}(?:こと|ください|せよ|しろ|な)[。!！]?$|(?:してください|しないでください|するな|せよ|しろ)[。!！]?$|(?:하세요|하십시오|해라|하라|하지 ?마(?:라|세요|십시오)?|마십시오|말 ?것|할 ?것)[.!]?$|^\W*(?:항상|반드시|절대로?)",
            r"من فضلك|تجاهل|احذف|דלג|התעלם|מחק",
        )
    ),
    re.IGNORECASE,
)
