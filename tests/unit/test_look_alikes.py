"""Look-alikes: an attack in ten scripts that finds no gap, and real sentences that never collide."""

from __future__ import annotations

import hashlib
import itertools
import random
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator

import pytest

from unsay_core.domain.confusables import LOOK_ALIKES, READINGS
from unsay_core.domain.tombstone import NORMALISERS, fold, normalise

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

FIRST = "0fa56d345b92694f6e11aea4d315c9f97e4333ecc1358bd37666072e6bd1a7be"

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


def test_the_attack_is_as_large_as_it_should_be() -> None:
    variants = {variant for value, script in VALUES.items() for variant in attacks(value, script)}
    assert len(VALUES) == 20
    assert len(set(VALUES.values())) >= 8
    assert len(variants - set(VALUES)) >= 500


@pytest.mark.parametrize("value", VALUES)
def test_no_disguise_hides_a_value(value: str) -> None:
    form = normalise(value)
    slipped = {ascii(variant) for variant in attacks(value, VALUES[value]) if normalise(variant) != form}
    assert slipped == set()


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


def test_real_sentences_neither_match_a_value_nor_one_another() -> None:
    texts = [*sentences(), *VALUES]
    assert len(texts) > 720
    assert len({normalise(text) for text in texts}) == len(texts)


def test_the_first_normaliser_answers_what_it_always_did() -> None:
    """Tombstones are found by it for ever: for another answer, add a normaliser and leave this one."""
    forms = map(NORMALISERS[1], [*sentences(), *VALUES])
    said = "\n".join([*forms, *READINGS.values(), *LOOK_ALIKES.values()])
    assert hashlib.sha256(said.encode()).hexdigest() == FIRST


# Pairs that Unicode's own skeleton would bring together, or that a careless folding would.
DIFFERENT = [
    ("PIN is 101", "PIN is lol"),
    ("room 10", "room IO"),
    ("room 10", "room l0"),
    ("0", "O"),
    ("corn", "com"),
    ("Il", "ll"),
    ("sıkıldım", "sikildim"),
    ("æ", "ae"),
    ("þ", "p"),
    ("ǎ", "ă"),
    ("5 µm", "5 mm"),
    ("5 µA", "5 mA"),
    ("5 µM", "5 mM"),
    ("η = 5", "h = 5"),
    ("για", "υια"),
    ("σε", "οε"),
    ("не", "һе"),
    ("вес", "ьес"),
    ("שׁ", "שׂ"),
    ("سو", "سه"),
    ("কে", "কৈ"),
    ("土", "士"),
    ("6'", '6"'),
    ("a-b", "a_b"),
    ("|", "l"),
    ("₤5", "£5"),
    ("Room ৪", "Room 8"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_only_resembles_stays_different(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


SAME = [
    ("Alice’s", "Alice's"),
    ("pages 1–5", "pages 1-5"),
    ("−5", "-5"),
    ("“hi”", '"hi"'),
    ("½", "1/2"),
    ("București", "Bucureşti"),
    ("٢٣", "۲۳"),
    ("Noteは", "Νoteは"),
    ("Straße", "Straßе"),
    ("Plan B", "Plan Β"),
    ("NATO", "ΝΑΤΟ"),
    ("nato", "НАТО".replace("Н", "N")),
    ("МОСКВА", "Москвa"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_cannot_be_told_apart_is_the_same(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


# A word that is spelt wholly in another script reads as that script's own: these get through, and the
# decision record says so.
UNCAUGHT = [
    ("she", "ѕһе"),  # no Latin letter left, and the small letters alone pass for it
    ("για τον", "για tov"),  # a Latin v for a nu, in a word without a Greek letter
    ("PIN 1", "PIN l"),  # letters are never digits
]


@pytest.mark.parametrize(("value", "disguise"), UNCAUGHT)
def test_the_known_limits_are_still_where_the_decision_record_puts_them(value: str, disguise: str) -> None:
    assert normalise(value) != normalise(disguise)


def letters(first: int, last: int) -> list[str]:
    return [c for c in map(chr, range(first, last + 1)) if unicodedata.category(c) in ("Ll", "Lo")]


ALPHABETS = {
    "Latin": list("abcdefghijklmnopqrstuvwxyzßæðøþđħıłŋœŧǝɓɔɖɗəɛɠɣɨɩɲʉʊʋʌ") + letters(0xC0, 0x17F),
    "Greek": letters(0x370, 0x3E1),
    "Cyrillic": letters(0x400, 0x52F),
    "Armenian": letters(0x531, 0x587),
    "Hebrew": letters(0x5D0, 0x5EA),
    "Arabic": letters(0x620, 0x64A) + letters(0x671, 0x6D3),
    "Devanagari": letters(0x904, 0x950),
    "Thai": letters(0xE01, 0xE33),
    "Georgian": letters(0x10D0, 0x10FF),
    "Cherokee": letters(0x13A0, 0x13F5),
    "Coptic": letters(0x2C80, 0x2CE4),
    "Hiragana": letters(0x3041, 0x3096),
    "Katakana": letters(0x30A1, 0x30FA),
    "Lisu": letters(0xA4D0, 0xA4F7),
}


def without_look_alikes(value: str) -> str:
    while (folded := unicodedata.normalize("NFKC", value.casefold())) != value:
        value = folded
    return value


@pytest.mark.parametrize("script", ALPHABETS)
def test_no_two_words_of_one_alphabet_meet(script: str) -> None:
    """Every word of one and of two letters, so that words read by their capitals meet the others too."""
    alphabet = sorted({without_look_alikes(letter) for letter in ALPHABETS[script]})
    words = [*alphabet, *map("".join, itertools.product(alphabet, alphabet))]
    forms = {word: normalise(word) for word in words}
    assert len(set(forms.values())) == len({without_look_alikes(word) for word in words})
    assert all(normalise(word.upper()) == normalise(word.upper().lower()) for word in alphabet)


def test_the_generated_tables_are_closed_and_ordered_pairs() -> None:
    pairs = [pair for table in LOOK_ALIKES.values() for pair in table.split()]
    assert all(len(pair) == 2 and pair[0] != pair[1] for pair in pairs)
    assert len({pair[0] for pair in pairs}) == len(pairs)
    assert {pair[0] for pair in pairs}.isdisjoint(pair[1] for pair in pairs)
    shown = [pair for table in READINGS.values() for pair in table.split()]
    assert all(pair[1].isascii() and pair[1].isalpha() for pair in shown)
    assert not any(pair[0].isascii() for pair in [*pairs, *shown])


def test_letters_stand_for_letters_and_numbers_for_the_same_number() -> None:
    for one, other in (pair for table in LOOK_ALIKES.values() for pair in table.split()):
        kinds = {unicodedata.category(one)[0], unicodedata.category(other)[0]}
        if "C" in kinds or unicodedata.category(one) == "Lm":
            continue  # newer than this Python, or a modifier letter that is typed as an apostrophe
        assert len(kinds) == 1 or kinds == {"P", "S"}
        assert kinds != {"N"} or unicodedata.numeric(one) == unicodedata.numeric(other)


def test_the_tables_load_in_a_few_milliseconds() -> None:
    code = (
        "import re, unicodedata, collections, dataclasses, time\n"
        "started = time.process_time()\n"
        "import unsay_core.domain.look_alikes\n"
        "print(time.process_time() - started)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(3)]
    assert min(float(run.stdout) for run in runs) < 0.01


@pytest.mark.parametrize("unit", ["аa ", "Νote ", "аbс", "我喜欢猫", "κόσμε ", "abcdɑ"])
def test_the_longest_content_is_read_at_once(unit: str) -> None:
    longest = (unit * 16_384).encode()[:16_384].decode(errors="ignore")
    assert fold(normalise(longest)) == normalise(longest)
