"""English words whose forms no stemmer brings together: `bought` is `buy`, `children` are `child`; knows no index.

Forms that are as often another word (`left`, `rose`, `lives`) are not among them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["BASES"]

_FORMS: Final = """
    arise arose arisen|become became|begin began begun|bend bent|bite bitten|blow blew blown|break broke broken
    |breed bred|bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|creep crept
    |deal dealt|dig dug|do did done|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten
    |fall fell fallen|feed fed|feel felt|fight fought|find found|flee fled|fly flew flown|forget forgot forgotten
    |forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone|grow grew grown|hang hung
    |hear heard|hide hid hidden|hold held|keep kept|know knew known|lead led|learn learnt|lend lent|lose lost|make made
    |mean meant|meet met|overcome overcame|pay paid|ride rode ridden|ring rang rung|rise risen|run ran|say said
    |see saw seen|seek sought|sell sold|send sent|shake shook shaken|shine shone|shoot shot|show shown
    |shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|spend spent
    |spin spun|stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn|sweep swept|swim swam swum
    |swing swung|take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown
    |undergo underwent undergone|understand understood|wake woke woken|wear wore worn|weep wept|win won
    |withdraw withdrew withdrawn|write wrote written
    |child children|foot feet|goose geese|knife knives|loaf loaves|man men|mouse mice|shelf shelves|thief thieves
    |tooth teeth|wife wives|wolf wolves|woman women
"""

BASES: Final[Mapping[str, str]] = MappingProxyType(
    {form: base for base, *forms in map(str.split, _FORMS.split("|")) for form in forms}
)
"""For each form, the word it is a form of; all in small letters."""
