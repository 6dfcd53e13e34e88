"""Credentials are found in every field, and ordinary text is left alone.

The samples are put together from their prefix and a filler, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.transcripts import TRANSCRIPTS, Transcript
from unsay_core.extraction.credentials import find_credential, find_in_json, redact, redact_json

HEX = "0123456789abcdef" * 4
MIXED = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0" * 3
UPPER = "A1B2C3D4E5F6G7H8"
UUID = "550e8400-e29b-41d4-a716-446655440000"

FORMATS = {
    "aws_access_key": ["AKIA" + UPPER, "ASIA" + UPPER, "AKIA" + "IOSFODNN7EXAMPLE"],
    "bedrock_api_key": ["ABSK" + MIXED[:60]],
    "github_token": [f"gh{kind}_{MIXED[:36]}" for kind in "pousr"]
    + ["github_pat_" + MIXED[:22] + "_" + MIXED[:59]],
    "gitlab_token": ["glpat-" + MIXED[:20]],
    "openai_api_key": ["sk-" + MIXED[:48], "sk-proj-" + MIXED[:24] + "_" + MIXED[:24], "sk-or-v1-" + HEX],
    "anthropic_api_key": ["sk-ant-" + "api03-" + MIXED[:90]],
    "stripe_key": [
        "sk_live_" + MIXED[:24],
        "rk_live_" + MIXED[:24],
        "sk_test_" + MIXED[:24],
        "whsec_" + MIXED[:32],
    ],
    "slack_token": ["xoxb-" + "123456789012-1234567890123-" + MIXED[:24], "xapp-1-" + UPPER],
    "slack_webhook": ["https://hooks.slack.com/services/" + "T0ABCDEFG/B0ABCDEFG/" + MIXED[:24]],
    "google_api_key": ["AIza" + MIXED[:35]],
    "google_oauth_secret": ["GOCSPX-" + MIXED[:28], "ya29." + MIXED[:60]],
    "npm_token": ["npm_" + MIXED[:36]],
    "pypi_token": ["pypi-" + "AgEIcHlwaS5vcmc" + MIXED[:60]],
    "hugging_face_token": ["hf_" + MIXED[:34]],
    "sendgrid_key": ["SG." + MIXED[:22] + "." + MIXED[:43]],
    "mailgun_key": ["key-" + HEX[:32]],
    "twilio_key": ["SK" + HEX[:32]],
    "digitalocean_token": ["dop_v1_" + HEX],
    "shopify_token": ["shpat_" + HEX[:32]],
    "telegram_bot_token": ["123456789:" + "AA" + MIXED[:33]],
    "docker_token": ["dckr_pat_" + MIXED[:27]],
    "vault_token": ["hvs." + MIXED[:24]],
    "databricks_token": ["dapi" + HEX[:32]],
    "groq_api_key": ["gsk_" + MIXED[:52]],
    "replicate_token": ["r8_" + MIXED[:37]],
    "grafana_token": ["glsa_" + MIXED[:32]],
    "linear_api_key": ["lin_api_" + MIXED[:40]],
    "notion_token": ["ntn_" + MIXED[:46]],
    "square_token": ["sq0atp-" + MIXED[:22]],
    "unsay_key": ["unsay_" + MIXED[:43], "unsay_key_" + MIXED[:26] + "_" + MIXED[:43]],
    "jwt": ["eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0In0." + MIXED[:43]],
    "private_key": [
        f"-----BEGIN {kind}PRIVATE KEY{block}-----"
        for kind, block in (
            ("", ""),
            ("RSA ", ""),
            ("EC ", ""),
            ("OPENSSH ", ""),
            ("ENCRYPTED ", ""),
            ("PGP ", " BLOCK"),
        )
    ]
    + ["AGE-SECRET-KEY-1" + UPPER * 3, "PuTTY-User-Key-File-3: ssh-ed25519"],
    "basic_auth": ["Authorization: Basic dXNlcjpodW50ZXIy", '"authorization": "Basic dXNlcjpodW50ZXIy"'],
    "connection_string": [
        "postgres://alice:hunter2@db.example/app",
        "postgresql+asyncpg://alice:12345@localhost:5432/app",
        "redis://:hunter2@cache:6379/0",
        "mongodb+srv://a%40b:p%2Fw@cluster.example",
        "amqp://guest:pa/ss?w#d@mq",
        "https://alice:hunter2@example.com/",
        "jdbc:mysql://db/app?user=alice&password=hunter2",
        "Server=db;Database=app;User Id=alice;Password=hunter2;",
        "host=db dbname=app user=alice password='hunter2'",
        "Data Source=db;Pwd=hunter2",
    ],
}
SAMPLES = [(kind, sample) for kind, samples in FORMATS.items() for sample in samples]

LABELLED = [
    "token: " + MIXED[:20],
    "The API key is " + MIXED[:24],
    "my db password is " + MIXED[:20],
    "My password for the staging database is " + HEX[:32],
    "the token we use in production: " + HEX[:40],
    "I changed my password to " + MIXED[:20] + ".",
    f'api_key = "{HEX[:32]}"',
    f"apikey='{HEX[:32]}'",
    f"secret=`{HEX[:32]}`",
    f"the secret is “{HEX[:32]}”",
    f"the secret is «{HEX[:32]}»",
    f"Passwords: {HEX[:32]}",
    f"PASSWORD={HEX[:32]}",
    f"export STRIPE_SECRET_KEY={HEX[:32]}",
    f"clientSecret: {HEX[:32]}",
    f"stripeKey: {HEX[:32]}",
    f"secret => {HEX[:32]}",
    f"secret := {HEX[:32]}",
    f"secret：{HEX[:32]}",
    f"key {HEX[:32]}",
    f"key:\n{HEX[:32]}",
    f"--token {HEX[:32]}",
    f"https://example.com/x?token={HEX[:32]}&y=1",
    f'{{"password": "{HEX[:32]}"}}',
    f'{{\\"password\\": \\"{HEX[:32]}\\"}}',
    f"Authorization: Bearer {MIXED[:40]}",
    "password: " + "1234567890" * 2,
    "password: " + "correcthorsebatterystaple",
    "key: " + UUID,
    "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
]

ORDINARY = [
    "",
    "Alice lives in Lisbon.",
    "My PIN is 1234.",
    "My PIN is 123456 and the door code is 4711#.",
    "The password is hunter2.",
    "The password is correct-horse-battery-staple-again-and-again.",
    "password: correct-horse-battery-staple-again-and-again-2024",
    "The password is on the sticky-note-under-the-keyboard-of-room-42b.",
    "The key is internationalization.",
    "Key concept: internationalization matters.",
    "The key ingredient is patience; the token gesture was appreciated.",
    "The secret is antidisestablishmentarianism, said the linguist.",
    "monkey: " + HEX[:32],
    "The turkey weighs 7.5kg and the hockey game is at 20:00.",
    "keynote " + HEX[:32],
    "commit " + HEX[:40] + " fixed it",
    "id " + UUID,
    "mem_01arz3ndektsv4rrffq69g5fav",
    "sk-learn-based-classification-pipeline-with-many-words",
    "task-" + MIXED[:24],
    "unsay_core_domain_credentials_module_name",
    "Slack xoxo-hugs-and-kisses-for-everyone",
    "AKIA is a prefix of AWS keys, AIza of Google's.",
    "AKIAIOSFODNN7EXAMPLETOOLONG",
    "eyJ is how JWTs start.",
    "-----BEGIN PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "http://localhost:8080/path@x",
    "see http://a.example:80, or write to bob@example.com",
    "(http://a.example:8080)(mailto:bob@example.com)",
    "https://medium.com/@alice/12345",
    "https://example.com/docs/keys-and-tokens/how-to-rotate-a-secret-key-in-production",
    "The token docs: https://docs.example.com/d/1A2b3C4d5E6f7G8h9I0jKlMnOpQrStUvWxYz",
    "The token docs are at https://docs.example.com/d/1A2b3C4d5E6f7G8h9I0jKlMnOpQrStUvWxYz",
    "postgres://alice:${DB_PASSWORD}@db/app",
    "postgres://alice:<password>@db/app",
    "postgres://alice:***@db/app",
    "postgres://alice@db/app",
    "Server=db;Trusted_Connection=True;Password=***;",
    "see https://door.example, password=1234",
    "ssh git@github.com:alice/repo.git",
    "The meeting is at 10:30@office",
    "パスワードは秘密です。",
    "ключ от квартиры лежит под ковриком",
    "Donaudampfschifffahrtsgesellschaftskapitän",
]


# What people write about passwords, with one and without, in many languages.
DRAWN = MIXED[:24]
TOLD = {
    "English": f"My password for the router is {DRAWN}.",
    "German": f"Mein Passwort ist {DRAWN}.",
    "French": f"Mon mot de passe est {DRAWN}.",
    "Spanish": f"Mi contraseña es {DRAWN}.",
    "Portuguese": f"A minha senha é {DRAWN}.",
    "Italian": f"La mia password è {DRAWN}.",
    "Dutch": f"Mijn wachtwoord is {DRAWN}.",
    "Polish": f"Moje hasło: {DRAWN}.",
    "Turkish": f"Şifre: {DRAWN}",
    "Russian": f"Мой пароль: {DRAWN}",
    "Chinese": f"我的密码是{DRAWN}。",
    "Japanese": f"パスワードは {DRAWN} です。",
    "Korean": f"비밀번호는 {DRAWN}",
    "Arabic": f"كلمة المرور هي {DRAWN}",
    "Hebrew": f"הסיסמה: {DRAWN}",
    "Hindi": f"मेरा पासवर्ड है {DRAWN}",
    "Vietnamese": f"Mật khẩu là {DRAWN}",
}
SPOKEN = [
    "I forgot my password again, and the secret is out.",
    "Mein Passwort ist zu kurz, sagt die Donaudampfschifffahrtsgesellschaft.",
    "Mon mot de passe est sur un papier, sous le clavier.",
    "Mi contraseña es la misma desde hace veinte años.",
    "A minha senha é o nome do meu cão.",
    "La password del router è scritta sul retro.",
    "Mijn wachtwoord is te kort voor de arbeidsongeschiktheidsverzekering.",
    "Moje hasło jest za krótkie, a klucz leży pod wycieraczką.",
    "Şifremi unuttum, anahtar kapıda.",
    "Мой пароль слишком короткий, ключ под ковриком.",
    "我的密码是我的生日。",
    "パスワードは秘密です。鍵は玄関にあります。",
    "비밀번호는 너무 짧아요.",
    "كلمة المرور قصيرة جدا والمفتاح تحت السجادة.",
    "הסיסמה שלי קצרה מדי.",
    "मेरा पासवर्ड बहुत छोटा है।",
]


@pytest.mark.parametrize("language", TOLD)
def test_a_password_is_found_whatever_its_language(language: str) -> None:
    assert find_credential(TOLD[language]) == "labelled_token"
    assert DRAWN not in redact(TOLD[language])


@pytest.mark.parametrize("text", SPOKEN)
def test_people_may_talk_about_passwords(text: str) -> None:
    assert find_credential(text) is None


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=[each.name for each in TRANSCRIPTS])
def test_what_people_say_all_day_is_no_credential(transcript: Transcript) -> None:
    assert (find_credential(transcript.text) is not None) == (transcript.name == "a secret")
    assert [said for said in transcript.states if find_credential(said)] == []


@pytest.mark.parametrize(("kind", "sample"), SAMPLES)
def test_a_known_format_is_found_by_its_kind_wherever_it_stands(kind: str, sample: str) -> None:
    for text in (
        sample,
        f"please remember {sample} for me",
        f"“{sample}”",
        f"({sample}).",
        f"a\n{sample}\nb",
    ):
        assert find_credential(text) == kind, text


@pytest.mark.parametrize("sample", LABELLED)
def test_a_token_after_a_label_is_found(sample: str) -> None:
    assert find_credential(sample) is not None
    assert find_credential(f"Remember this. {sample} Thank you!") is not None


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_no_credential(text: str) -> None:
    assert find_credential(text) is None
    assert find_in_json({"content": text, "tags": [text]}) is None


def test_nineteen_characters_after_a_label_are_too_few_and_twenty_are_enough() -> None:
    assert find_credential("token: " + MIXED[:19]) is None
    assert find_credential("token: " + MIXED[:20]) == "labelled_token"


@pytest.mark.parametrize("hidden", ["{0}\u200b{1}", "{0}\u00ad{1}", "{0}\u2060{1}", "{0}\ufe0f{1}"])
def test_invisible_characters_do_not_hide_a_credential(hidden: str) -> None:
    sample = "ghp_" + MIXED[:36]
    assert find_credential(hidden.format(sample[:10], sample[10:])) == "github_token"


def test_full_width_characters_do_not_hide_a_credential() -> None:
    wide = "".join(chr(ord(character) + 0xFEE0) for character in "AKIA" + UPPER)
    assert find_credential(wide) == "aws_access_key"


def test_the_answer_is_a_kind_and_never_the_text() -> None:
    kinds = {find_credential(text) for text in [sample for _, sample in SAMPLES] + LABELLED}
    assert kinds <= {*FORMATS, "labelled_token"}


@pytest.mark.parametrize(
    "value",
    [
        "AKIA" + UPPER,
        ["a", ["b", "AKIA" + UPPER]],
        {"content": "AKIA" + UPPER},
        {"data": {"deep": [{"er": {"AKIA" + UPPER: 1}}]}},
        {"metadata": {"password": HEX[:32]}},
        {"metadata": {"api_key": HEX[:32]}},
        {"metadata": {"clientSecret": HEX[:32]}},
        {"metadata": {"tokens": ["short", HEX[:32]]}},
        {"source": {"quote": "password: " + HEX[:32]}},
        {"a": None, "b": 1, "c": True, "d": "AKIA" + UPPER},
    ],
)
def test_a_credential_is_found_anywhere_in_json_names_included(value: object) -> None:
    assert find_in_json(value) is not None


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        {"key": UUID},
        {"key": HEX[:32], "path": [HEX[:32]]},
        {"idempotency_key": UUID},
        {"password": "hunter2"},
        {"password_hint": "correct-horse-battery-staple-again"},
        {"token_count": 12345678901234567890},
        {"id": HEX, "name": "password", "value": HEX[:32]},
        {"secretary": "Bartholomew Featherstonehaugh-Cholmondeley"},
    ],
)
def test_ordinary_json_and_the_slot_key_of_a_memory_are_no_credentials(value: object) -> None:
    assert find_in_json(value) is None


def test_json_of_any_depth_is_walked() -> None:
    value: object = "AKIA" + UPPER
    for _ in range(100_000):
        value = [value]
    assert find_in_json(value) == "aws_access_key"


@given(st.recursive(st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_json_has_an_answer(value: object) -> None:
    found = find_in_json(value)
    assert found is None or found in {*FORMATS, "labelled_token"}


MEGABYTE = 1_000_000
HOSTILE = [
    "a",
    "key ",
    "key\"\"'' ",
    "key a b c d e ",
    "key is         ",
    "://",
    "://a:",
    "://a:b",
    "eyJ",
    "eyJaaaaaaaa.",
    "sk-",
    "xoxa-",
    "password=",
    " host= password=x",
    "-----BEGIN A A A A ",
    "authorization: ",
    "1234567890:",
    "\u0345\u0301",
    "😀é",
    "key a b c d e f " + "a1" * 10 + " ",
    "keykeykeykeykeykeykeykeykey " * 5 + "a1b2c3d4e5f6g7h8i9j0k1 ",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_text_takes_no_longer_than_its_length(unit: str) -> None:
    started = time.process_time()
    find_credential(unit * (MEGABYTE // 4 // len(unit)))
    # A quarter of a megabyte takes about half a second at worst; one quadratic step would take minutes.
    assert time.process_time() - started < 15


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("it is sk-" + MIXED[:30] + " now", "it is [redacted] now"),
        ("postgres://app:" + MIXED[:9] + "@db.example/x", "postgres://app:[redacted]@db.example/x"),
        ("Alice lives in Lisbon.", "Alice lives in Lisbon."),
        (
            "sk-learn-is-a-library-for-people, sk-" + MIXED[:30],
            "sk-learn-is-a-library-for-people, [redacted]",
        ),
        (f"ftp://a:xxxx@b.c ftp://a:{MIXED[:9]}@b.c", "ftp://a:xxxx@b.c ftp://a:[redacted]@b.c"),
    ],
)
def test_a_credential_is_cut_out_and_the_rest_stays(text: str, left: str) -> None:
    assert redact(text) == left


def test_numbers_and_nothing_stay_what_they_are_in_json() -> None:
    value = {"n": 1, "none": None, "list": [True, "x"]}
    assert redact_json(value) == value


def test_a_credential_that_hides_behind_invisible_characters_is_cut_out_too() -> None:
    hidden = f"sk-{MIXED[:10]}\u200b{MIXED[10:30]}"
    assert MIXED[10:20] not in redact(f"it is {hidden} now")
