"""An attack on tombstones by disguise, in ten scripts; and real sentences of the same scripts."""

from __future__ import annotations

import itertools
import random
import unicodedata
from collections.abc import Callable, Iterator

VALUES = {
    "Alice lives in Lisbon.": "Latin",
    "The PIN of the House is 4711": "Latin",
    "NATO": "Latin",
    "Pays with PayPal": "Latin",
    "Señora Núñez schläft hier": "Latin",
    "Анна живёт за Казанью.": "Cyrillic",
    "Её собаку зовут Рекс": "Cyrillic",
    "МОСКВА": "Cyrillic",
    "Ελένη μένει στην Αθήνα.": "Greek",
    "για τον Νίκο": "Greek",
    "Δεν τρώει κρέας": "Greek",
    "דנה גרה בתל אביב": "Hebrew",
    "הוא אוהב סוסים": "Hebrew",
    "ليلى تسكن في القاهرة": "Arabic",
    "رقم الغرفة ١٢٣": "Arabic",
    "लीला फ़िनलैंड में रहती है।": "Devanagari",
    "เธอทำงานที่บางนา": "Thai",
    "她住在上海。": "Chinese",
    "カメラはトロントへ送った": "Japanese",
    "민수는 서울에 산다": "Korean",
}

# What an attacker has at hand, by the script of the value: a letter and its twin, each in its own case.
# Written down by hand, so that a fault of the generated table does not hide itself.
HOMOGLYPHS = {
    "Latin": [
        "AА BВ CС EЕ HН IІ JЈ KК MМ OО PР SЅ TТ XХ aа cс dԁ eе hһ iі jј lӏ oо pр qԛ rг sѕ vѵ wԝ xх yу",
        "AΑ BΒ EΕ HΗ IΙ KΚ MΜ NΝ OΟ PΡ TΤ XΧ YΥ ZΖ aα iι oο pρ uυ vν yγ",
        "OՕ SՏ UՍ gց hհ nո oօ uս",
        "AᎪ CᏟ EᎬ HᎻ KᏦ LᏞ MᎷ PᏢ TᎢ WᎳ ZᏃ",
        "Aꓮ Bꓐ Cꓚ Dꓓ Eꓰ Fꓝ Hꓧ Iꓲ Lꓡ Nꓠ Oꓳ Pꓑ Tꓔ Xꓫ Yꓬ",
        "aɑ cᴄ gɡ oᴏ sꜱ vᴠ wᴡ zᴢ",
        "A𝐀 L𝕃 N𝒩 P𝖯 T𝙏 H𝓗 a𝒂 e𝖊 i𝒊 l𝗅 o𝐨 s𝘴 y𝚢",
        "Aⓐ lⓛ eⓔ Nⓝ Oⓞ pⓟ Hⓗ 4④ 7⑦ 1①",
    ],
    "Cyrillic": [
        "АA ВB ЕE КK МM НH ОO РP СC ТT ХX аa гr еe оo рp сc уy хx",
        "АΑ ВΒ ЕΕ КΚ МΜ НΗ ОΟ РΡ ТΤ ХΧ оο рρ",
    ],
    "Greek": [
        "ΑA ΒB ΕE ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΧX ΥY αa ιi νv οo ρp",
        "ΑА ΒВ ΕЕ ΗН ΙІ ΚК ΜМ ΟО ΡР ΤТ ΧХ αа ιі οо ρр",
    ],
    "Hebrew": ["אℵ בℶ גℷ דℸ הﬣ לﬥ םﬦ רﬧ תﬨ", "סo"],
    "Arabic": ["اﺎ لﻠ سﺳ كﻛ نﻧ يﻴ قﻗ", "١۱ ٢۲ ٣۳ هo"],
    "Thai": ["ย\u0e8d บ\u0e9a"],
    "Japanese": ["カ力 ロ口 ト卜 へヘ", "カｶ ロﾛ ラﾗ ンﾝ メﾒ トﾄ"],
}
UNSEEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u3164\U000e0041\ufe0f"
BIDI = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
SPACES = ["  ", "\u00a0", "\u3000", "\n", "\t ", "\u2009", "\u2800"]
STOPS = [".", "!", "…", "。", "؟", "।", "...", " .", "?!", ";", "\u037e", "．", "‼", ",", "։", "።"]

Disguise = Callable[[str, str, random.Random], str]


def cases(value: str, _script: str, rng: random.Random) -> str:
    return "".join(rng.choice((letter.upper(), letter.lower())) for letter in value)


def width(value: str, _script: str, rng: random.Random) -> str:
    chance = rng.choice((0.4, 1))
    return "".join(
        chr(ord(c) + 0xFEE0) if "!" <= c <= "~" and rng.random() < chance else c.replace(" ", "\u3000")
        for c in value
    )


def homoglyphs(value: str, script: str, rng: random.Random) -> str:
    twins = [dict(pair for pair in table.split()) for table in HOMOGLYPHS.get(script, [])]
    table = rng.choice(twins) if twins else {}
    chance = rng.choice((0.3, 0.6, 1))
    return "".join(table.get(c, c) if rng.random() < chance else c for c in value)


def one_homoglyph(value: str, script: str, rng: random.Random) -> str:
    table = dict(pair for tables in HOMOGLYPHS.get(script, []) for pair in tables.split())
    places = [place for place, letter in enumerate(value) if letter in table]
    place = rng.choice(places) if places else 0
    return value[:place] + table.get(value[place], value[place]) + value[place + 1 :]


def between(characters: str) -> Disguise:
    def disguise(value: str, _script: str, rng: random.Random) -> str:
        return "".join(c + rng.choice(characters) if rng.random() < 0.4 else c for c in value)

    return disguise


def decomposed(value: str, _script: str, rng: random.Random) -> str:
    form = unicodedata.normalize(rng.choice(("NFD", "NFKD", "NFC")), value)
    return "".join(c + "\u034f" if rng.random() < 0.3 else c for c in form)


def stops(value: str, _script: str, rng: random.Random) -> str:
    return value.rstrip(".।。") + rng.choice(["", *STOPS])


def spaces(value: str, _script: str, rng: random.Random) -> str:
    wide = "".join(rng.choice(SPACES) if c == " " else c for c in value)
    return rng.choice(["", *SPACES]) + wide + rng.choice(SPACES)


DISGUISES: list[Disguise] = [
    cases,
    width,
    homoglyphs,
    one_homoglyph,
    between(UNSEEN),
    between(BIDI),
    decomposed,
    stops,
    spaces,
]


def attacks(value: str, script: str) -> Iterator[str]:
    """Every disguise a few times, and then several worn at once."""
    rng = random.Random(value)
    for disguise in DISGUISES:
        for _ in range(8):
            yield disguise(value, script, rng)
    for _ in range(30):
        # Case first: a twin is a twin in its own case.
        worn = value if rng.random() < 0.5 else cases(value, script, rng)
        for disguise in rng.sample(DISGUISES[1:], 3):
            worn = disguise(worn, script, rng)
        yield worn


SENTENCES = {
    "Latin": (
        ["Marta", "Jonas", "Zoë", "Ada", "My brother"],
        ["lives in", "moved to", "works in", "was born in", "dislikes"],
        ["Rome", "Rouen", "Bern", "Berlin", "Córdoba", "Cordoba", "Oslo"],
    ),
    "Cyrillic": (
        ["Иван", "Мария", "Моя сестра", "Олег"],
        ["живёт в городе", "работает в городе", "не любит город", "любит город"],
        ["Москва", "Минск", "Омск", "Томск", "Орёл"],
    ),
    "Greek": (
        ["Η Μαρία", "Ο Γιώργος", "Ο Νίκος", "Η Ελένη"],
        ["μένει στην", "δουλεύει στην", "γεννήθηκε στην", "πήγε στην"],
        ["Αθήνα", "Πάτρα", "Νάξο", "Χίο", "Τήνο"],
    ),
    "Hebrew": (
        ["דנה", "יוסי", "רותם", "אחי"],
        ["גר בעיר", "עובד בעיר", "נולד בעיר", "אוהב את"],
        ["חיפה", "יפו", "אילת", "עכו"],
    ),
    "Arabic": (
        ["ليلى", "سامي", "أختي", "جدي"],
        ["يسكن في", "يعمل في", "ولد في", "يحب"],
        ["دمشق", "بيروت", "عمان", "حلب"],
    ),
    "Devanagari": (
        ["राम", "सीता", "मेरी बहन", "मोहन"],
        ["यहाँ रहते हैं:", "वहाँ काम करते हैं:", "को पसंद है"],
        ["दिल्ली", "पुणे", "पटना", "मुंबई"],
    ),
    "Thai": (
        ["สมชาย", "มาลี", "พี่สาว", "น้องสาว"],
        ["อยู่ที่", "ทำงานที่", "ชอบ", "ไม่ชอบ"],
        ["ลำปาง", "ลำพูน", "ตรัง", "ตราด"],
    ),
    "Chinese": (
        ["王芳", "李明", "我姐姐", "我妹妹"],
        ["住在", "在", "喜欢", "不喜欢"],
        ["上海", "北京", "天津", "太原", "大原"],
    ),
    "Japanese": (
        ["田中さんは", "母は", "兄は", "弟は"],
        ["東京に", "京都に", "大阪に", "大坂に", "カナダに"],
        ["住んでいる", "行った", "行かない", "勤めている"],
    ),
    "Korean": (
        ["지훈이는", "지영이는", "언니는", "오빠는"],
        ["서울에", "부산에", "대구에", "대전에"],
        ["산다", "간다", "왔다", "안 산다"],
    ),
}


def sentences() -> list[str]:
    return [" ".join(parts) for words in SENTENCES.values() for parts in itertools.product(*words)]
