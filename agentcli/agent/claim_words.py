"""Words of claims that a run can prove, and the receipt of a message: loaded with every session."""

from __future__ import annotations

import re
from typing import Literal

from agentcli.core.dataclass import dataclass

Kind = Literal["tests", "build", "lint", "checks", "ci", "verified", "fixed"]
"""Subject of a claim; `checks` are checks without a name, `ci` those of the project's server."""


@dataclass(frozen=True, slots=True)
class Words:
    """Words of one language.

    The other fields are patterns for the subjects, their success, one-phrase claims, and retractions.
    """

    hints: str
    """Words; every text with a claim contains one of them."""
    tests: str
    build: str
    lint: str
    success: str
    verified: str
    fixed: str
    open: str
    """Words that retract every claim of their clause."""
    report: str = r"(?!)"
    """Nouns that introduce a list of runs, beside those of `verified`."""
    later: str = r"(?!)"
    """Words that retract what their part of the clause says, and what follows: a condition, or a plan."""
    elsewhere: str = r"(?!)"
    """Words that do the same for another place, or for others who report."""
    builds: str = r"(?!)"
    """A verb that says by itself that it builds."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Verdict on a final message: None if it claims nothing that a run proves. `line` is for the person."""

    verified: bool | None = None
    line: str = ""
    claim: str = ""
    """The unproven claim, for the model; empty if it needs no command, such as that something is fixed."""
    edited: str = ""
    """The file that changed last."""


NO_RECEIPT = Receipt()


SUBJECTS = r"(?:\w+[- ])?(?:builds?|compile|tests?|\w*lint\w*|runs?|suites?|type-?checks?|checks?|CI)"
OBJECT = rf" (?:`(?![^`]*\b{SUBJECTS}\b)|_|--|an?\b|the\b(?![^.,;()]*\b(?:suites?|tests|checks|linters?)\b)|to\b|it\b|them\b|its\b|their\b|your\b|this\b|that\b|(?-i:[A-Z])\w+ \w)"
"""An object after `pass`: `passes the flag to it` says nothing of tests."""
_OF_ITS_OWN = r"suites?|cases|runs?|sets?|OK|results?|commands?|files?|jobs?|targets?|pass\w*|is|was|are|now|still|also|all|both|green|clean|just|has|completed|finished|ran|succe\w+|in|of|for|at|on|with|after|and|or|locally|–|—"
"""Words after `test` that leave it the subject. With any other it is a name, such as a test client."""
PREDICATE = rf"[^\w`]*(?:$|[.,;:!?()|—–✅✓✔🎉-]|(?:and|or|on|for|in|with|across|after|at|again|now|too|as|by|under|via|through|from|per|both|but|so|locally|everywhere|throughout|since|without|except|{SUBJECTS})\b)"
"""What may follow `clean` or `green` if a run is: the end of its part, or a run.

Another noun may not.
"""
NO_ERRORS = r"(?:no|zero|0|without(?: any)?) (?:(?:new|other|further|remaining|more|lint(?:er|ing)?|type(?:[- ]?check(?:ing|er)?)?|TS|TypeScript|compil\w+|build|test)(?:[/ ]|,? or |,? and ))*(?:errors|issues|warnings|problems|findings|failures|complaints|regressions|violations)"
"""What a linter or compiler finds if it succeeds."""
_SAYS = r"(?:sa(?:id|ys?)|report(?:s|ed)?|claim(?:s|ed)?|confirm(?:s|ed)?|state[sd]?|mention(?:s|ed)?)"
LOANWORDS = (
    r"tests|test(?! ?[a-z])|pytest|vitest|jest|e2e",
    r"builds?|compiled?",
    r"lint|typescript|tsc|type-?check",
)
"""English words for tests, builds and linters that texts in other languages use."""
LANGUAGES = {
    "English": Words(
        "test pass green clean succe ✅ ✓ ✔ verif validat fail exit gone longer warning fixed resolved works error issue lint build compil check fine nothing correctly perfectly properly problem complain regress violat typescript suite confirm output",
        rf"\b(?:tests|specs|suites?|e2e|pytest|vitest|jest|(?:playwright|cypress)(?= (?:now |still )?(?:pass|continues|succeed|(?:is|was|stays) green))|test(?=\W*$|\W*[^\w\s:]|: *(?:[^\w\s]|\d|all |pass|succ|green|OK)| (?:_|[\w:-]+`|(?:{_OF_ITS_OWN})\b))|spec(?= (?:{_OF_ITS_OWN})\b))\b(?!-)",
        r"\b(?:(?:xcode)?builds?|(?:re-?)?compil(?:es?|ed|ing|ation)|building(?= (?:successfully|cleanly|fine)\b)|(?:re)?built(?= (?:[\w./-]+ ){0,3}(?:successfully|cleanly|fine|without)\b))\b(?![- ]time)",
        rf"\b(?:lint(?=\W*$|\W*[^\w\s]| (?:_|[\w:-]+`|(?:{_OF_ITS_OWN}|already|reports?|issues|errors|warnings|checks)\b))|lint(?:er|ers|ed|ing|s)|(?!(?:f|g|c|sp)lint)\w+lint|vet|static analysis|type[- ]?check(?:s|er|ing)?|(?:type|TS)[- ]errors?|types|typescript|format(?:ting)?)\b",
        rf"(?<!-)\b(?:(?:(?<!(?<!continue )(?<!continues )to )(?<!first )(?<!final )(?<!second )pass|passes|passed|(?<!for )(?<!by )(?<!of )(?<!as )(?<!\ba )passing)(?!{OBJECT})|(?:green|clean|(?<!\ba )(?<!\bevery )successful)(?={PREDICATE})|cleanly|succeeds?|succeeded|(?<!\ba )success(?={PREDICATE})|successfully(?={PREDICATE}| (?:built|compiled|passed|ran|run|completed|finished|executed)\b)|OK|exit(?:s|ed|ing)?(?: with)?(?: code| status)?[ :=]+0|checks? out|works(?={PREDICATE})|{NO_ERRORS})\b",
        r"\bI(?:['’]ve| have)? (?:also )?(?:\w+ly )?(?:verified|validated|(?:smoke-)?tested)\b|(?:^|, |\(|[+&/] |\b(?:and|all|fully|now|been|is|are|was|were|\w+ly) )(?:verified|tested)\b(?! (?:by|with) (?:you|hand))|(?:^|, |\band |ly )validated\b|(?<!be )\bverified (?=clean|in|on|with|live|via|end)\b|^verification (?:was|consisted)\b|^(?:\w+ )?(?:verification|validation)s? (?:has |have |also |all |is |are |now )*(?:pass(?:ed|es)?|succeeded|clean|green)\b(?! so far)|^(?:verdict|result|outcome): (?:pass\w*|success\w*|OK|green)\b",
        r"^(?:(?:all|it|this|that|now|everything)(?: is| are|['’]s) )?(?:now )?(?:fixed|resolved)(?=[.!,;: ]|$)|\b(?:is|are|has been|have been) (?:now )?(?:fixed|resolved)\b|\bnow works\b|^works(?=[.!])|(?<!how )(?<!why )(?<!that )(?<!where )\bit works(?=[.!,;:]|$)|\bno longer (?:occurs?|happens?|crashes|reproduces?)\b|\b(?:error|crash|bug|warning|failure)s? (?:is|are) (?:now )?gone\b|\b(?:is|are) working (?:now|again)\b|\bworks (?:now|again|correctly|as expected)\b|^I(?:['’]ve| have) (?:now |just |also )?fixed (?:the|this|that|these|both|all|it)\b(?!.*:\W*$)",
        r"n['’]t\b|\b(?:not|never|cannot|except|(?<!\bthe )(?<!\bpreviously )fail(?:s|ed|ing|ures?)?|broken|errors? (?:in|remain)|skipped|unverified|pre-existing|previously|baseline|"
        r"were already|no (?:(?!(?:and|all|errors?|issues?|warnings?)\b)[\w`-]+ ){0,6}(?:tests?|specs?)|(?<!each )(?<!every )one(?= (?:of|(?:[\w-]+ ){0,2}(?:tests?|specs?|suites?|cases?|checks?|pass|fail\w*))\b)|some|most)\b|\b(\d+)(?:\s*/\s*| (?:out )?of )(?!\1\b)\d+[`\s]+(?:tests?|pass\w*)\b",
        r"\b(?:verification|validation)\b|\b(?:checks?|tests?|commands?) (?:\w+ )?(?:run|ran|passed|executed|performed)\b|^(?:I )?(?:re-?)?ran$",
        r"\b(?:should|would|will|['’]ll|could|might|must|need(?:s|ed)? to|to (?:make|get|see|check|confirm|verify)|ensures?(?! _ pass)|make sure|(?:check|confirm|see) (?:that|whether)|(?<!\w )(?:verify|check|confirm|ensure|see|try|test) (?:it|they|everything|the|if|your|by|with)|until|once|when(?:ever)?|if|unless|(?<!to )(?<!than )(?<!as )before(?! (?:the |each |every |that )?(?:commit(?:ting)?|push(?:ing)?|merg(?:e|ing))\b)|so that|so the|so (?=(?-i:[A-Z]))|want|let me|"
        r"waiting|(?<!\bby )running|pending|todo|criteri\w+|(?:next(?: steps?)?|plan|goals?|acceptance|remaining|left)(?=:))\b",
        rf"\b(?:(?<![:.\-])CI|(?:pipelines?|workflows?|jobs?|agents)(?! tests?\b)|agent(?= (?:\w+ ){{0,2}}(?:report|sa[iy]|confirm|found|ran|claim|verif|complet|finish))|GitHub|PR(?! (?:#\d+ )?(?:now|has|is (?:now|up|open))\b)|(?:you|users?|reviewers?|they|docs|documentation|readme|issue|comment|author) (?:have |has |already |also )*{_SAYS})\b",
        r"\b(?:compiles|builds)(?: (?:fine|now|again|cleanly|locally))*(?=\W*$|[.,;)] | and (?:runs|starts|links|passes)\b)(?<!\bthe builds)(?<!\ball builds)(?<!\bthese builds)(?<!\brun builds)",
    ),
    "German": Words(
        "besteh bestanden grün laufen läuft erfolg sauber fehler prüf verifi validierung getestet behoben repariert funktioniert durchgelaufen",
        r"\b(?:\w*tests?|testsuite)\b",
        r"\b(?:build|kompiliert|übersetzt|baut)\b",
        r"\b(?:lint\w*|typprüfung|formatierung)\b",
        r"\b(?:bestehen|bestanden|grün|(?:laufen|läuft) (?:\w+ )?durch|laufen fehlerfrei|erfolgreich|sauber|fehlerfrei|ohne (?:fehler|warnungen)|(?:0|null) fehler|durchgelaufen)\b",
        r"\b(?:geprüft|überprüft|verifiziert|validiert|getestet)\b",
        r"\b(?:behoben|repariert|funktioniert (?:jetzt|nun|wieder))\b",
        r"\b(?:nicht|kein\w*|außer|fehlgeschlagen|schlägt|schlagen|sollte\w*|würde\w*|wird|werden|wenn|falls|sobald|bevor|bis|damit|müssen|muss)\b",
        r"^(?:überprüfung|prüfung|verifikation|validierung|geprüft|getestet)\W*$",
    ),
    "French": Words(
        "passent passe réussi vert succès erreur propre vérifi validation testé corrigé réparé fonctionne",
        r"\btests?\b",
        r"\b(?:build|compil\w+|construction)\b",
        r"\b(?:lint\w*|typage|formatage)\b",
        r"\b(?:passent|passe|passés|réussi\w*|au vert|succès|(?:sans(?: aucun\w*)?|0|zéro|aucune) (?:erreurs?|avertissements?|warnings?)|propre)\b",
        r"\b(?:vérifié\w*|validé\w*|testé\w*)\b",
        r"\b(?:corrigé\w*|réparé\w*|fonctionne (?:maintenant|à nouveau))\b",
        r"\b(?:ne|n['’]|pas|sauf|échou\w+|devrai\w+|seront|sera|si|quand|lorsque|avant|pour que|afin|doit|doivent)\b",
        r"^(?:vérifications?|validations?|vérifié|testé)\W*$",
    ),
    "Spanish": Words(
        "pasan pasa éxito correctamente errores verde limpio verifica valida comproba probad corregid arreglad solucionad funciona",
        r"\b(?:tests?|pruebas)\b",
        r"\b(?:build|compila\w*|compilación)\b",
        r"\b(?:lint\w*|linter|tipos|formato)\b",
        r"\b(?:pasan|pasa|pasaron|pasado|en verde|éxito|correctamente|(?:sin(?: ning\w+)?|0|cero) (?:errores|avisos|warnings)|limpio)\b",
        r"\b(?:verificad\w+|validad\w+|comprobad\w+|probad\w+|he (?:verificado|comprobado|probado))\b",
        r"\b(?:corregid\w+|arreglad\w+|solucionad\w+|ya funciona|funciona ahora)\b",
        r"\b(?:no|excepto|salvo|fall\w+|debería\w*|si|cuando|antes|hasta|para que|debe\w*|pasarán)\b",
        r"^(?:(?:verific|valid|comprob)aci(?:ón|ones)|verificado|probado|(?:tests|pruebas) (?:ejecutad|realizad)[ao]s)\W*$",
    ),
    "Portuguese": Words(
        "passam passa sucesso sem erros verde limpo verifica valida testad testes corrigid consertad resolvid funciona",
        r"\b(?:testes?)\b",
        r"\b(?:build|compila\w*|compilação)\b",
        r"\b(?:lint\w*|tipos|formatação)\b",
        r"\b(?:passam|passa|passaram|passando|verde|sucesso|(?:sem(?: quaisquer| nenhum\w*)?|0|zero) (?:erros|avisos|falhas|warnings)|limpo)\b",
        r"\b(?:verificad\w+|validad\w+|testad\w+)\b",
        r"\b(?:corrigid\w+|consertad\w+|resolvid\w+|agora funciona)\b",
        r"\b(?:não|exceto|falh\w+|deve\w*|se|quando|antes|até|para que)\b",
        r"^(?:(?:verific|valid)aç(?:ão|ões)|verificado|testado|testes (?:executados|realizados))\W*$",
    ),
    "Italian": Words(
        "passano superati verd successo errori pulito verific validazion testat corrett risolt funziona",
        r"\btest\b",
        r"\b(?:build|compila\w*)\b",
        r"\b(?:lint\w*|tipi|formattazione)\b",
        r"\b(?:passano|passa|passati|superati|verdi?|successo|(?:senza(?: alcun)?|0|zero) (?:errori|warning|avvisi)|pulito)\b",
        r"\b(?:verificat[oaie]|validat[oaie]|testat[oaie])\b",
        r"\b(?:corrett[oaie]|risolt\w+|ora funziona)\b",
        r"\b(?:non|tranne|fallisc\w+|fallit\w+|dovrebbe\w*|se|quando|prima|finché|affinché|deve|devono)\b",
        r"^(?:verific(?:a|he)|validazion[ei]|verificato|testato)\W*$",
    ),
    "Dutch": Words(
        "slagen geslaagd groen zonder succesvol verifi valid getest controle opgelost gerepareerd werkt",
        r"\btests?\b",
        r"\b(?:build|compileert)\b",
        r"\b(?:lint\w*|typecontrole)\b",
        r"\b(?:slagen|geslaagd|groen|zonder fouten|(?:0|geen) fouten|succesvol)\b",
        r"\b(?:geverifieerd|getest|gecontroleerd)\b",
        r"\b(?:opgelost|gerepareerd|werkt (?:nu|weer))\b",
        r"\b(?:niet|geen|behalve|faalt|falen|zou|als|wanneer|voordat|totdat|moet|moeten)\b",
        r"^(?:verificatie|validatie|controles?|geverifieerd|getest)\W*$",
    ),
    "Polish": Words(
        "przechodzą przeszły zaliczone zielone pomyślnie bez weryfik walidac przetestowan sprawdzon naprawion poprawion działa",
        r"\btest(?:y|ów)?\b",
        r"\b(?:build|kompiluje|kompilacja)\b",
        r"\blint\w*\b",
        r"\b(?:przechodzą|przeszły|zaliczone|zielone|pomyślnie|bez błędów|0 błędów)\b",
        r"\b(?:zweryfikowan\w+|przetestowan\w+|sprawdzon\w+)\b",
        r"\b(?:naprawion\w+|poprawion\w+|teraz działa)\b",
        r"\b(?:nie|oprócz|powinn\w+|jeśli|gdy|zanim|aby|musi|muszą)\b",
        r"^(?:weryfikacja|walidacja|sprawdzono|przetestowano)\W*$",
    ),
    "Russian": Words(
        "проход прош пройден успешно зелён ошибок чисто провер верифик валидац протестирован исправлен починен работает",
        r"\bтест(?:ы|ов)?\b",
        r"\b(?:сборка|собирается|компилируется|компиляция)\b",
        r"\b(?:линт\w*|типы|проверка типов)\b",
        r"\b(?:проходят|прошли|пройдены|успешно|зелёные|без ошибок|0 ошибок|чисто|проходит|прошла)\b",
        r"\b(?:проверено|проверил\w*|протестирован\w*)\b",
        r"\b(?:исправлен\w*|починен\w*|теперь работает)\b",
        r"\b(?:не|кроме|должн\w+|если|когда|прежде|чтобы|будут|будет)\b",
        r"^(?:проверк[аи]|верификация|валидация|проверено)\W*$",
    ),
    "Turkish": Words(
        "geçi geçti başar hatasız yeşil doğrula edildi ettim düzelt çalışıyor",
        r"\btestler\w*\b",
        r"\b(?:derleme|derleniyor|build)\b",
        r"\blint\w*\b",
        r"\b(?:geçiyor|geçti|başarılı|başarıyla|hatasız|yeşil)\b",
        r"\b(?:doğrulandı|doğruladım|test edildi|test ettim)\b",
        r"\b(?:düzeltildi|düzelttim|artık çalışıyor)\b",
        r"\b(?:değil|hariç|başarısız|geçmiyor|gerekir|eğer|önce|için)\b",
        r"^(?:doğrulama|doğrulandı)\W*$",
    ),
    "Vietnamese": Words(
        "thành công lỗi kiểm đạt đã sạch hợp",
        r"kiểm thử",
        r"biên dịch",
        r"định dạng",
        r"\b(?:thành công|(?:không(?: có| còn)?|0) lỗi|đều đạt|pass(?:ed)?|hoạt động tốt|sạch|hợp lệ)\b",
        r"\bđã (?:kiểm tra|xác minh|kiểm thử|test|verify|validate)\b",
        r"\bđã (?:sửa|khắc phục|fix)\b",
        r"\b(?:không(?! (?:có |còn )?lỗi)|chưa|sẽ|nếu|cần|trước khi|thất bại|nên|phải|để)\b",
        r"^(?:kết quả )?(?:kiểm tra|xác minh|kiểm thử)\W*$",
    ),
    "Chinese": Words(
        "通过 成功 完成 错误 全绿 验证 测试 修复 解决 修好 正确 正常",
        r"(?:单元|集成|回归|所有|全部|\d+ ?(?:个|项)?)[^，,]{0,6}测试|测试(?:用例|套件|都|均|全部|也都|从|共)|用例|\btests?\b", r"构建|编译", r"(?:代码|类型|静态|格式)检查|类型|\blint\b", r"通过|成功|无错误|没有错误|0 ?个?错误|全绿", r"已验证|已测试|(?:验证|测试|检查)(?:已|也)?通过|测试过|^全(?:部|都)?[^，,]{0,6}(?:通过|成功|正确|正常)", r"已修复|已解决|修复完成|修好", r"没(?!有?(?:错误|问题))|未|不|失败|应该|如果|除了|之前|以前|先前|上次|需要|将", r"^(?:验证|校验)(?:结果|情况|通过)?\W*$|^\w{0,4}验证$", builds=r"(?:构建|编译|打包)完成"
    ),
    "Japanese": Words(
        "通 パス 成功 合格 エラー グリーン 検証 確認 修正 直し 解決",
        r"テスト", r"ビルド|コンパイル", r"リント|lint|型チェック", r"通り|通っ|通過|通过|パス|成功|合格|正常|エラーなし|(?:エラー|警告)\D{0,6}0|グリーン", r"検証済み|検証しました|確認済み|確認しました|動作確認", r"修正しました|修正済み|直しました|解決しました", r"ません|ない|失敗|はず|もし|れば|たら|なら|場合|除き|前に|以前|前回|既に|必要", r"^(?:動作)?(?:検証|確認)(?:結果|済み|した\w*|しました)?\W*$"
    ),
    "Korean": Words(
        "통과 성공 오류 검증 확인 수정 해결",
        r"테스트", r"빌드|컴파일", r"린트|타입", r"통과|성공|오류 없이|오류 ?0", r"검증(?:했|됨|완료)|확인(?:했|됨|완료)", r"수정(?:했|됨|완료)|해결(?:했|됨)", r"않|못|실패|해야|면 |제외|전에", r"^(?:검증(?:도|은)?(?: ?(?:결과|완료|내용|했\w*|한 것))?|(?:\w+ )?확인(?:된|한) \w+)\W*$"
    ),
}  # fmt: skip
"""Each language with its words."""


_TRADITIONAL = str.maketrans("過測試構編譯驗證檢錯誤沒綠運數據", "过测试构编译验证检错误没绿运数据")


def simplified(text: str) -> str:
    """Return a text with simplified letters for the traditional ones of Chinese words of claims."""
    return text if text.isascii() else text.translate(_TRADITIONAL)


def spoken_in(text: str) -> list[str]:
    """Return the languages whose words a text may use for a claim."""
    found, text = set[str](), simplified(text)
    for start in range(0, len(text), _SLICE):
        low = text[start : start + _SLICE + _LONGEST_HINT].lower()
        found |= {name for name, words in LANGUAGES.items() if any(hint in low for hint in words.hints.split())}
    if {"Chinese", "Japanese"} <= found and not re.search("[ぁ-んァ-ヶ]", text):
        found.remove("Japanese")  # the words that it shares with Chinese
    return [name for name in LANGUAGES if name in found]


_SLICE = 1 << 16
"""Characters of a text that are examined at once. Lower-casing a long text would copy it."""
_LONGEST_HINT = max(len(hint) for words in LANGUAGES.values() for hint in words.hints.split())
