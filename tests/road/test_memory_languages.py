"""The same planted fact is found by its exact term, whatever language it is written in."""

from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.road.memorytools import open_memory

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

FACTS = {
    "english": ("The lighthouse keeper keeps a falcon in the tower.", "falcon"),
    "german": ("Der Leuchtturmwärter hält einen Wanderfalken im Turm.", "Wanderfalken"),
    "french": ("Le gardien du phare élève un faucon pèlerin dans la tour.", "pèlerin"),
    "spanish": ("El farero cría un halcón en la torre junto al mar.", "halcón"),
    "russian": ("Смотритель маяка держит сокола в башне.", "сокола"),
    "arabic": ("حارس المنارة يربي صقرا في البرج.", "صقرا"),
    "hindi": ("प्रकाशस्तंभ का रखवाला मीनार में एक बाज़ पालता है।", "बाज़"),
    "chinese": ("灯塔看守人在塔里养了一只游隼。", "游隼"),
    "japanese": ("灯台守は塔でハヤブサを飼っている。", "ハヤブサ"),
    "korean": ("등대지기는 탑에서 송골매를 기른다.", "송골매"),
    "thai": ("ผู้ดูแลประภาคารเลี้ยงเหยี่ยวเพเรกรินไว้ในหอคอย", "เพเรกริน"),
}


@pytest.mark.parametrize("embedder", ["none", "wordllama"])
@requirement("search.languages")
async def test_a_fact_is_found_by_its_own_word_in_eleven_languages(tmp_path: Path, embedder: str) -> None:
    async with open_memory(tmp_path, embedder=embedder) as memory:
        for language, (fact, _) in FACTS.items():
            await memory.tool("memory_remember", content=f"# Note\n\n{fact}", path=f"wiki/{language}.md")
            # What only looks alike: the same script, other words.
            await memory.tool("memory_remember", content=f"# Note\n\n{fact[:8]}", path=f"wiki/{language}-other.md")
        best = {language: (await memory.found(word))[:1] for language, (_, word) in FACTS.items()}
    assert best == {language: [f"wiki/{language}.md"] for language in FACTS}
