"""What a person should look at before it is believed: words that tell an agent what to do, or to believe."""

from __future__ import annotations

import re

# Said to a model rather than about oneself. Deliberately wide: what is caught waits for a person, no more.
_PLANTED = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}"
    r"\b(?:previous|prior|above|earlier|all|any|your|the)\b.{0,40}\b(?:instruction|rule|prompt|guideline|polic)"
    r"|\b(?:system prompt|developer mode|jailbreak)"
    r"|\b(?:as an ai\b|you are (?:now|an? )|act as\b|pretend (?:to|you))"
    r"|\bfrom now on\b.{0,60}\b(?:you|always|never|must|answer|reply|say)\b"
    r"|(?:^|[.!?:;\n]\s*)(?:always|never|do not|don't)\s+\w+"
    r"|\b(?:must|should|will)\s+(?:always|never)\s+"
    r"(?:recommend|reply|respond|answer|forward|execute|approve|trust)"
    r"|\b(?:remember|store|save|memori[sz]e|note|record)\b.{0,24}\b"
    r"(?:rule|instruction|that (?:you|the user|all|i am (?:an? )?(?:admin|root|developer|owner)))"
    r"|\b(?:verified|confirmed|approved|authori[sz]ed) by (?:the )?(?:user|admin|system|staff)"
    r"|</?(?:system|assistant|user|tool|instructions?|memory|memories|s|inst)\b[^>]*>|\[/?INST\]|<\|[\w ]+\|>"
    r"|\b(?:ignoriere?|vergiss)\b.{0,40}\b(?:anweisung|regel)|\b(?:ab jetzt|von nun an)\b"
    r"|\b(?:ignorez?|oublie[zr]?)\b.{0,40}\b(?:instruction|règle|consigne)|\bà partir de maintenant\b"
    r"|\b(?:ignora|olvida)\b.{0,40}\b(?:instruccion|regla)|\ba partir de ahora\b"
    r"|\bignor[ae]\b.{0,40}\b(?:istruzion|regol)|\bd'ora in poi\b|\bde agora em diante\b|\bvanaf nu\b"
    r"|忽略.{0,12}(?:指令|指示|规则|說明|说明)|从现在(?:起|开始)"
    r"|以前の指示|これからは|지금부터|이전 (?:지시|명령)"
    r"|игнорируй.{0,40}(?:инструкци|правил)|отныне|с этого момента"
    r"|تجاهل.{0,40}(?:تعليمات|قواعد)|من الآن فصاعد"
    r"|ab se hamesha|अब से|निर्देशों को (?:अनदेखा|नज़रअंदाज़)",
    re.IGNORECASE | re.DOTALL,
)
_SECOND_PERSON = re.compile(
    r"\b(?:you|your|yours|yourself|du|dich|dir|dein\w*|euch|tu|toi|vous|votre|vos|tú|usted(?:es)?|vocês?"
    r"|jij|jouw|ты|тебя|тебе|твой|твоя|вы|вас|вам|ваш\w*|أنت)\b"
    r"|你|您|妳|あなた|君は|당신|너는|आप|तुम",
    re.IGNORECASE,
)
_PLEASE = re.compile(
    r"^\W*(?:please|pls|kindly|bitte|s'il (?:te|vous) pla[iî]t|por favor|per favore|请|請)\b", re.I
)


def is_planted(text: str) -> bool:
    """True if a text reads like an instruction to a model."""
    return bool(_PLANTED.search(text))


def addresses_agent(text: str) -> bool:
    """True if a text speaks to somebody instead of about the speaker."""
    return bool(_SECOND_PERSON.search(text) or _PLEASE.search(text))
