"""Tokens without a vocabulary: the pieces that o200k_base would cut a text into, each at its usual price.

The pattern follows the published split of o200k_base (words with the character before them, up to
three digits, runs of punctuation, white space). What a piece costs by its length was measured on
two million characters of code, documents, logs and JSON; prices of other scripts on prose.
"""

import re

_UPPER = "A-ZÀ-ÖØ-Þ"
_LOWER = "a-zß-öø-ɏḀ-ỿ"
_PIECE = re.compile(
    rf"((?:_|[^\r\n\w])?(?:[{_UPPER}]*[{_LOWER}]+|[{_UPPER}]+))"
    r"|\d{1,3}"
    r"| ?[^\s\w\u0300-\u1dff\u2e80-\U0010ffff]{1,4}[\r\n/]*"
    r"|_{1,16}|\s{0,40}[\r\n]{1,16}|\s{1,80}(?!\S)|\s"
)
_WORD_PRICE = (1.0, 1.0, 1.0, 1.04, 1.06, 1.07, 1.11, 1.15, 1.24, 1.32, 1.40, 1.45, 1.56, 1.65)
_LONG_WORD_PRICE = 0.13
"""Per character of a word beyond the table."""

_RUN = re.compile(r"[A-Za-z0-9+/=]{24,}")
_DIGITS = re.compile(r"[0-9]+")
_RANDOM_PRICE = 0.66
"""Per character of base64, hashes and keys."""

_SCRIPTS = tuple(
    (re.compile(f"[{characters}]+"), price)
    for characters, price in (
        ("\u2e80-\u2fff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff", 0.80),  # Han
        ("\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f", 0.68),  # kana
        ("\u1100-\u11ff\u3130-\u318f\uac00-\ud7af", 0.47),  # Hangul
        ("\u3000-\u303f\uff00-\uff65", 0.90),  # their punctuation
        ("\U00010000-\U0001ffff", 1.5),  # emoji and rare scripts
        ("\u0400-\u04ff", 0.21),  # Cyrillic
        ("À-ɏ", 0.90),  # accented letters, on top of their word
        ("\u0300-\u03ff\u0500-\u10ff\u1200-\u1dff\ua000-\uabff", 0.33),  # other alphabets
    )
)


def approximate_tokens(text: str) -> int:
    """About the tokens of o200k_base, within 25 % on ordinary text of a few hundred characters or more."""
    total = sum(map(_price_of_word, map(len, _PIECE.findall(text))))
    total += sum(map(_price_of_randomness, _RUN.findall(text)))
    if not text.isascii():
        total += sum(price * sum(map(len, script.findall(text))) for script, price in _SCRIPTS)
    return round(total)


def _price_of_word(length: int) -> float:
    """By length; 0 stands for any other piece, which is one token."""
    return _WORD_PRICE[length] if length < len(_WORD_PRICE) else _LONG_WORD_PRICE * length


def _price_of_randomness(run: str) -> float:
    """What a run of letters and digits costs beyond its pieces; digits scattered all over give it away."""
    if len(_DIGITS.findall(run)) * 16 < len(run):
        return 0
    return max(0, _RANDOM_PRICE * len(run) - len(_PIECE.findall(run)))
