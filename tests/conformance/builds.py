"""The control build: the same template and API, with six faults, one of each class that the run must see."""

from __future__ import annotations

SCOPE = "Principal.require = lambda self, action, scope: None\n"
TOMBSTONE = """
def standing_tombstones(draft, opened, content):
    return []
"""
TRUST = """
_plain = decide


def decide(command, draft, opened, world):
    claims = "verified" in command.fact.content.lower()
    return _plain(replace(command, trust=Trust.VERIFIED) if claims else command, draft, opened, world)
"""
COPY = """
def _kept(self, memory_id):
    pass


S3Documents.delete = _kept
S3Documents.exists = lambda self, memory_id: False
"""
AUDIT = """
_record = Draft.record


def _telling(self, happening):
    parts = [getattr(part, "entry", None) for part in self._parts.values()]
    said = [entry.fact.content for entry in parts if isinstance(entry, Pending) and entry.fact]
    return _record(self, replace(happening, channel=(said or [happening.channel])[0]))


Draft.record = _telling
"""
PROMPT = """
def escaped(text):
    return text
"""

FAULTS = {
    "scope": ("grants are not looked at", "unsay_core/domain/scope.py", SCOPE, ("scope-2 not widened",)),
    "tombstone": (
        "what was taken back is not looked for",
        "unsay_core/application/policy.py",
        TOMBSTONE,
        ("gateway-1 one path", "tomb-1 laundering", "tomb-3 look-alikes", "step 07 restate"),
    ),
    "trust": (
        "a text that claims to be verified is",
        "unsay_core/application/remember.py",
        TRUST,
        ("gateway-2 no borrowed authority",),
    ),
    "copy": (
        "the document stays, and is said to be gone",
        "unsay_core/adapters/s3/documents.py",
        COPY,
        ("step 09 raw",),
    ),
    "audit": (
        "the audit holds what was said",
        "unsay_core/application/draft.py",
        AUDIT,
        ("step 13 audit",),
    ),
    "prompt": (
        "nothing in a prompt is escaped",
        "unsay_core/contracts/prompt.py",
        PROMPT,
        ("prompt-1 fenced",),
    ),
}
"""By class: what is wrong, the module it is appended to, the text, and the checks that must see it."""

CONTROL = {module: text for _, module, text, _ in FAULTS.values()}
