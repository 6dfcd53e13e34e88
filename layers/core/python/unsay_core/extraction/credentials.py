"""Finds credentials in text, so that none is remembered; tells the kind, never the text.

Every expression here is anchored to a literal and bounded or possessive: the time grows with the length of
the text and no faster.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from unsay_core.domain.characters import DEFAULT_IGNORABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_TOKEN_CHARACTERS = 20

_START = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"

# Formats that a prefix and a length tell apart from prose.
_KNOWN_FORMATS: tuple[tuple[str, str], ...] = (
    ("private_key", r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----"),
    ("private_key", r"AGE-SECRET-KEY-1[A-Z0-9]{20}"),
    ("private_key", r"PuTTY-User-Key-File-\d:"),
    ("jwt", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+"),
    ("aws_access_key", _START + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}" + _END),
    ("bedrock_api_key", _START + r"(?:ABSK|bedrock-api-key-)[A-Za-z0-9+/]{40}"),
    ("github_token", _START + r"(?:gh[pousr]_[A-Za-z0-9]{20}|github_pat_[A-Za-z0-9_]{20})"),
    ("gitlab_token", _START + r"gl(?:pat|ptt|rt|dt|soat|agent)-[A-Za-z0-9_-]{20}"),
    ("anthropic_api_key", _START + r"sk-ant-[A-Za-z0-9_-]{16}"),
    ("stripe_key", _START + r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{10}"),
    ("slack_token", _START + r"xox[a-z]-(?=[A-Za-z-]{0,40}\d)[A-Za-z0-9-]{10}"),
    ("slack_token", _START + r"xapp-\d-[A-Z0-9]{8}"),
    ("slack_webhook", r"hooks\.slack\.com/(?:services|workflows)/T[A-Za-z0-9_]{6,16}/[A-Za-z0-9_]{6}"),
    ("google_api_key", _START + r"AIza[A-Za-z0-9_-]{35}"),
    ("google_oauth_secret", _START + r"(?:GOCSPX-[A-Za-z0-9_-]{20}|ya29\.[A-Za-z0-9_-]{20})"),
    ("npm_token", _START + r"npm_[A-Za-z0-9]{36}" + _END),
    ("pypi_token", _START + r"pypi-AgE[A-Za-z0-9_-]{20}"),
    ("hugging_face_token", _START + r"(?:hf|api_org)_[A-Za-z0-9]{30}"),
    ("sendgrid_key", _START + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16}"),
    ("mailgun_key", _START + r"key-[0-9a-f]{32}" + _END),
    ("twilio_key", _START + r"SK[0-9a-f]{32}" + _END),
    ("digitalocean_token", _START + r"do[opr]_v1_[0-9a-f]{40}"),
    ("shopify_token", _START + r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("telegram_bot_token", _START + r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("docker_token", _START + r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20}"),
    ("vault_token", _START + r"hv[sbr]\.[A-Za-z0-9_-]{24}"),
    ("databricks_token", _START + r"dapi[0-9a-f]{32}"),
    ("groq_api_key", _START + r"gsk_[A-Za-z0-9]{40}"),
    ("replicate_token", _START + r"r8_[A-Za-z0-9]{30}"),
    ("grafana_token", _START + r"gl(?:sa|c)_[A-Za-z0-9]{30}"),
    ("linear_api_key", _START + r"lin_api_[A-Za-z0-9]{30}"),
    ("notion_token", _START + r"ntn_[A-Za-z0-9]{30}"),
    ("square_token", _START + r"sq0(?:atp|csp)-[A-Za-z0-9_-]{20}"),
    ("basic_auth", r"(?i:authorization)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?i:basic)\s{1,4}[A-Za-z0-9+/]{8}"),
)

# Prefixes that words carry too (`sk-learn-based-models`): what follows must look drawn by lot.
_PREFIXED = re.compile(_START + r"(sk-|unsay_)([A-Za-z0-9_-]{20,}+)")
_PREFIXED_KINDS = {"sk-": "openai_api_key", "unsay_": "unsay_key"}

# `://user:password@`, where `:8080/` is a port.
_URL_PASSWORD = re.compile(r"://[^\s/?#:@]{0,256}+:(?!\d{1,5}[/?#,;)\]}])([^\s@\"'<>]{1,256}+)@[^\s@]")
_PARAMETER_PASSWORD = re.compile(r"(?i)[?&;](?:password|pwd)=([^\s;&,\"']{1,256}+)")
_PAIR_PASSWORD = re.compile(r"(?i)(?<![a-z])(?:password|pwd)\s{0,4}=\s{0,4}[\"']?([^\s;&,\"']{1,256}+)")
_PAIR_HOST = re.compile(r"(?i)(?<![a-z])(?:server|host(?:addr)?|data source|address|db(?:name)?)\s{0,4}=")
_PLACEHOLDER = re.compile(r"(?i)[*x.…]+|<.*>|\$?\{.*\}|\$\(.*\)|\[.*\]|\$[A-Z_]+|%[A-Z_]*%?")

_KEY_OWNERS = "api|access|secret|private|auth|encryption|signing|master|account|shared|service|license"
# "Password" in other languages; what they call a key opens doors more often than machines.
_PASSWORDS = (
    "passwort|kennwort|mot de passe|contraseña|senha|wachtwoord|hasło|parolă?|şifre|пароль"
    "|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|كلمة (?:المرور|السر)|סיסמה|पासवर्ड|รหัสผ่าน|mật khẩu"
)
_TELLING_NAMES = (
    rf"(?:{_KEY_OWNERS})[ _-]?key|token|secret|password|passwd|passphrase|pwd|bearer|{_PASSWORDS}"
)
_LABEL = rf"(?:{_TELLING_NAMES}|(?<![A-Za-z])key|(?-i:(?<=[a-z])Key))s?"
_QUOTE = r"[\"'`“”‘’«»‹›「」『』\\]"
_OPEN = rf"\s{{0,8}}[\[(<]?{_QUOTE}{{0,2}}\Z"
_SIGN = r"(?::=|=>|->|[:=：＝])"
_ASIDE = r"(?:[ \t]{1,4}[\w'’-]{1,24}){0,5}"  # "for the staging database"
_VERB = (
    r"(?:\s{1,4}(?:is|was|be|to|ist|lautet|est|es|é|è|jest|este|это|là)\b"
    r"|\s{0,4}(?:是|为|為|は|が|은|는|이|가|هي|هو|היא|है|คือ))"
)
# What stands right before a token: `api_key = "`.
_ASSIGNED = re.compile(rf"(?i){_LABEL}{_QUOTE}{{0,2}}\s{{0,4}}{_SIGN}{_OPEN}")
# Or more loosely: `password is '`, `the token for staging: `, `key `.
_TOLD = re.compile(rf"(?i){_LABEL}{_QUOTE}{{0,2}}(?:{_ASIDE}(?:{_VERB}|\s{{0,4}}{_SIGN}))?{_OPEN}")
_BEFORE_CHARACTERS = 160

_TOKEN = re.compile(r"(?<![A-Za-z0-9_+/.~-])[A-Za-z0-9_+/.~-]{20,}+")
_PIECE = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(r"[a-z]+|[A-Z]+|[A-Z][a-z]+")

_TELLING = re.compile(rf"(?i){_TELLING_NAMES}")

REDACTED = "[redacted]"
# How far a credential goes on behind what gave it away: a format says how it begins, not where it ends.
_REST_OF_TOKEN = re.compile(r"[A-Za-z0-9_+/.=~-]*")
_REST_OF_KEY = re.compile(r"[\s\S]*?-----END [A-Z0-9 ]{1,64}-----|[\s\S]*")


class _PlainCharacters(dict[int, str]):
    """Code point → the character without width, or nothing for what is not seen: neither hides a credential.

    Character by character, because normalising a whole text takes quadratic time on combining marks.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = "" if character in DEFAULT_IGNORABLE else unicodedata.normalize("NFKC", character)
        self[code] = plain
        return plain


_PLAIN = _PlainCharacters()


@cache
def _formats() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The formats, ready to be found: whoever only reads memories waits for none of them."""
    return tuple((kind, re.compile(pattern)) for kind, pattern in _KNOWN_FORMATS)


def find_credential(text: str) -> str | None:
    """The kind of the first credential found (`github_token`, `jwt`, `labelled_token` …), or `None`."""
    found = _find(text)
    if found or text.isascii():
        return found
    return _find(text.translate(_PLAIN))


def find_in_json(value: object) -> str | None:
    """The kind of a credential anywhere in a JSON value: strings, names, and values under a telling name."""
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        label, item = waiting.pop()
        if isinstance(item, str):
            found = find_credential(item) or (_find_labelled(f"{label}: {item}") if label else None)
            if found:
                return found
        elif isinstance(item, dict):
            waiting.extend(("", name) for name in item)
            waiting.extend((_telling(name), child) for name, child in item.items())
        elif isinstance(item, list | tuple):
            waiting.extend((label, child) for child in item)
    return None


def redact(text: str) -> str:
    """The text with every credential in it replaced; all of it, should one not let itself be cut out."""
    if find_credential(text) is None:
        return text
    cut = _cut(text)
    if find_credential(cut) is not None:
        cut = _cut(cut.translate(_PLAIN))
    return cut if find_credential(cut) is None else REDACTED


def redact_json(value: object, name: object = "") -> object:
    """A JSON value with every credential in it replaced, as `find_in_json` finds them; names stay."""
    if isinstance(value, str):
        label = _telling(name)
        return REDACTED if label and _find_labelled(f"{label}: {value}") else redact(value)
    if isinstance(value, dict):
        return {redact(key): redact_json(child, key) for key, child in value.items()}
    if isinstance(value, list):
        return [redact_json(child, name) for child in value]
    return value


def _cut(text: str) -> str:
    pieces, at = [], 0
    for start, end in sorted(_spans(text)):
        if start >= at:
            pieces += [text[at:start], REDACTED]
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where credentials lie; they may overlap."""
    for kind, pattern in _formats():
        rest = _REST_OF_KEY if kind == "private_key" else _REST_OF_TOKEN
        for match in pattern.finditer(text):
            end = rest.match(text, match.end())
            yield match.start(), end.end() if end else match.end()
    for match in _PREFIXED.finditer(text):
        if _drawn_characters(match[2]) >= MIN_TOKEN_CHARACTERS:
            yield match.span()
    for match in _passwords(text):
        if not _PLACEHOLDER.fullmatch(match[1]):
            yield match.span(1)
    for token in _TOKEN.finditer(text):
        if _is_labelled(text, token):
            yield token.span()


def _telling(name: object) -> str:
    """A label when a member's name announces a secret. A bare `key` does not: it names the memory's slot."""
    return "secret" if isinstance(name, str) and _TELLING.search(name) else ""


def _find(text: str) -> str | None:
    for kind, pattern in _formats():
        if pattern.search(text):
            return kind
    return _find_prefixed(text) or _find_connection_string(text) or _find_labelled(text)


def _find_prefixed(text: str) -> str | None:
    for match in _PREFIXED.finditer(text):
        if _drawn_characters(match[2]) >= MIN_TOKEN_CHARACTERS:
            return _PREFIXED_KINDS[match[1]]
    return None


def _find_connection_string(text: str) -> str | None:
    given = any(not _PLACEHOLDER.fullmatch(match[1]) for match in _passwords(text))
    return "connection_string" if given else None


def _passwords(text: str) -> Iterator[re.Match[str]]:
    """The passwords of connection strings, as the first group of each match."""
    patterns = []
    if "://" in text:
        patterns += [_URL_PASSWORD, _PARAMETER_PASSWORD]
    if _PAIR_HOST.search(text):
        patterns += [_PAIR_PASSWORD]
    return (match for pattern in patterns for match in pattern.finditer(text))


def _find_labelled(text: str) -> str | None:
    return "labelled_token" if any(_is_labelled(text, token) for token in _TOKEN.finditer(text)) else None


def _is_labelled(text: str, token: re.Match[str]) -> bool:
    """Whether a label announces the token: any label one drawn by lot, a plain assignment one of letters."""
    if token[0].startswith("//"):  # the rest of a URL
        return False
    before = text[max(0, token.start() - _BEFORE_CHARACTERS) : token.start()]
    if _drawn_characters(token[0]) >= MIN_TOKEN_CHARACTERS:
        return bool(_TOLD.search(before))
    unbroken = any(len(piece) >= MIN_TOKEN_CHARACTERS for piece in _PIECE.findall(token[0]))
    return unbroken and bool(_ASSIGNED.search(before))


def _drawn_characters(token: str) -> int:
    """How many of a token's letters and digits stand in pieces that are no plain words."""
    return sum(len(piece) for piece in _PIECE.findall(token) if not _WORD.fullmatch(piece))
