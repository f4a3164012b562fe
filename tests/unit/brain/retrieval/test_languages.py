"""What was written is found by the word it was written with: in any language, and in the names programs use."""

# ruff: noqa: RUF001 (Turkish has a letter of its own)

from collections.abc import Sequence

import pytest

from limen.brain.index.ports import Page
from limen.brain.retrieval.search import Hit, Searcher, SearchRequest
from tests.unit.brain.retrieval.memory_index import a_page, an_index

FACTS = {
    "en": ("The spare key lies under the blue flowerpot.", "flowerpot", "Where is the spare key?"),
    "de": ("Der Ersatzschlüssel liegt unter dem blauen Blumentopf.", "Blumentopf", "Wo liegt der Ersatzschlüssel?"),
    "fr": ("La clé de secours est sous le pot de fleurs bleu.", "fleurs", "Où est la clé de secours ?"),
    "es": ("La llave de repuesto está debajo de la maceta azul.", "maceta", "¿Dónde está la llave de repuesto?"),
    "ru": ("Запасной ключ лежит под синим цветочным горшком.", "цветочным", "Где лежит запасной ключ?"),
    "ar": ("المفتاح الاحتياطي تحت أصيص الزهور الأزرق.", "أصيص", "أين المفتاح الاحتياطي"),
    "hi": ("अतिरिक्त चाबी नीले गमले के नीचे है।", "गमले", "अतिरिक्त चाबी कहाँ है"),
    "zh": ("备用钥匙在蓝色花盆下面。", "花盆", "备用钥匙在哪里"),
    "ja": ("予備の鍵は青い植木鉢の下にあります。", "植木鉢", "予備の鍵はどこですか"),
    "ko": ("예비 열쇠는 파란 화분 아래에 있습니다.", "화분", "예비 열쇠는 어디에 있습니까"),
    "th": ("กุญแจสำรองอยู่ใต้กระถางดอกไม้สีฟ้า", "กระถาง", "กุญแจสำรองอยู่ที่ไหน"),
    "tr": ("Yedek anahtar mavi saksının altında.", "saksının", "Yedek anahtar nerede?"),
}
PAGES = [a_page(f"{language}.md", fact) for language, (fact, _, _) in FACTS.items()]
CODE = [
    a_page("a.md", "call parse_http_header before the body"),
    a_page("b.md", "the class HttpHeaderParser keeps state"),
    a_page("c.md", "see src/limen/brain/analysis.py for details"),
    a_page("d.md", "set LIMEN_DEFAULT_BRAIN in the shell"),
    a_page("e.md", "the weather was fine"),
]


def best(query: str, pages: Sequence[Page] = PAGES) -> Hit:
    hits = Searcher(an_index(*pages), None).search(SearchRequest(query=query)).hits
    return hits[0]


@pytest.mark.parametrize("language", FACTS)
def test_a_fact_is_found_by_its_word_in_every_language(language: str) -> None:
    fact, word, _ = FACTS[language]
    hit = best(word)
    assert hit.path == f"{language}.md"
    assert any(word in fact[start:end] or fact[start:end] in word for start, end in hit.highlights)


@pytest.mark.parametrize("language", FACTS)
def test_a_fact_is_found_by_a_question_in_every_language(language: str) -> None:
    assert best(FACTS[language][2]).path == f"{language}.md"


@pytest.mark.parametrize("language", ["zh", "ja", "th"])
def test_a_phrase_of_a_language_without_spaces_is_found_exactly(language: str) -> None:
    assert best(f'"{FACTS[language][1]}"').path == f"{language}.md"


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("parse_http_header", "a.md"),
        ("http_header parse", "a.md"),
        ("HttpHeaderParser", "b.md"),
        ("src/limen/brain/analysis.py", "c.md"),
        ("analysis.py", "c.md"),
        ("limen_default_brain", "d.md"),
        ("default brain", "d.md"),
    ],
)
def test_names_of_programs_are_found_whole_and_by_their_parts(query: str, path: str) -> None:
    assert best(query, CODE).path == path
