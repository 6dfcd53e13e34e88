"""Keys and digests: the published vectors of HKDF, and that no digest stands for two things."""

from __future__ import annotations

import re

import pytest

from unsay_core.application.keys import Keyring, content_commitment, hkdf_expand, hkdf_extract

PEPPER = "an example pepper of some length"
RING = Keyring.from_pepper(PEPPER)
SCOPE_ID = RING.scope_id("acme/users/alice")
KEYS = RING.for_scope(SCOPE_ID)

# RFC 5869, appendix A: the three test cases with SHA-256.
VECTORS = [
    (
        bytes.fromhex("0b" * 22),
        bytes(range(0x0D)),
        bytes(range(0xF0, 0xFA)),
        42,
        "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    ),
    (
        bytes(range(0x50)),
        bytes(range(0x60, 0xB0)),
        bytes(range(0xB0, 0x100)),
        82,
        "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
        "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
    ),
    (
        bytes.fromhex("0b" * 22),
        b"",
        b"",
        42,
        "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
    ),
]


@pytest.mark.parametrize(("secret", "salt", "info", "length", "key", "output"), VECTORS)
def test_hkdf_gives_the_vectors_of_rfc_5869(
    secret: bytes, salt: bytes, info: bytes, length: int, key: str, output: str
) -> None:
    extracted = hkdf_extract(salt, secret)
    assert extracted.hex() == key
    assert hkdf_expand(extracted, info, length).hex() == output


@pytest.mark.parametrize("length", [0, -1, 255 * 32 + 1])
def test_hkdf_refuses_a_length_it_cannot_give(length: int) -> None:
    with pytest.raises(ValueError, match="8160"):
        hkdf_expand(b"k" * 32, b"", length)
    assert len(hkdf_expand(b"k" * 32, b"", 255 * 32)) == 8160


def test_a_scope_id_is_52_lower_case_base32_characters() -> None:
    assert re.fullmatch("[a-z2-7]{52}", SCOPE_ID)


def test_digests_stay_what_they_are_from_release_to_release() -> None:
    # Everything stored hangs on these: a change here loses every scope of every deployment.
    assert SCOPE_ID == "ppxplqvrhdzi7y3dj5to4ti72pvhy7d24z346gnvdlcjbcjrqjgq"
    assert (
        KEYS.tombstone_digest("alice lives in lisbon", 1)
        == "tj3tt3a23aog7hrkoayqg6xyljtuhqhoi6473kmrxfk25db2ex3q"
    )
    assert RING.api_key_digest("secret") == "tbzwpiwz2pvg64opwhrrj3nurni5ldvn42vzebjpctrx4n2qhkwa"
    assert (
        content_commitment(b"nonce", "Alice lives in Lisbon.")
        == "crgszm2abrga6qckd7nprbnz3jwdoutmj55htwhc67ohpfxju4kq"
    )


def test_a_pepper_of_text_and_one_of_the_same_bytes_give_the_same_keys() -> None:
    assert Keyring.from_pepper(PEPPER.encode()) == RING
    assert Keyring.from_pepper(PEPPER + "!").scope_id("acme") != RING.scope_id("acme")


@pytest.mark.parametrize("pepper", ["", b"", "fifteen bytes!!"])
def test_a_pepper_too_short_to_be_one_fails_loudly(pepper: str | bytes) -> None:
    with pytest.raises(ValueError, match="pepper"):
        Keyring.from_pepper(pepper)


def test_one_value_has_another_digest_for_every_purpose_scope_and_pepper() -> None:
    other = RING.for_scope(RING.scope_id("acme/users/bob"))
    foreign = Keyring.from_pepper("another pepper of some length").for_scope(SCOPE_ID)
    digests = [
        *(keys.tombstone_digest("v", version) for keys in (KEYS, other, foreign) for version in (1, 2)),
        *(keys.duplicate_digest(b"v") for keys in (KEYS, other, foreign)),
        *(keys.request_digest(b"v") for keys in (KEYS, other, foreign)),
        *(keys.note_digest("v") for keys in (KEYS, other, foreign)),
        RING.scope_id("v"),
        RING.api_key_digest("v"),
        content_commitment(b"n", "v"),
        content_commitment(b"m", "v"),
    ]
    assert len(set(digests)) == len(digests)
    assert RING.sign("cursor", b"v") != RING.sign("page", b"v")
    # The control: the same value in the same place is the same digest.
    assert RING.for_scope(SCOPE_ID).tombstone_digest("v", 1) == digests[0]


def test_neither_repr_nor_text_of_the_keys_shows_them() -> None:
    for shown in (f"{RING!r}{RING}", f"{KEYS!r}{KEYS}"):
        assert not re.search(r"[0-9]|\\x|b'", shown)
        assert "Key" in shown
