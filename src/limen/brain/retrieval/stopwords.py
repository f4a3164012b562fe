"""Words of a question that carry no subject, for the languages most people write; data only.

A word that names something in English (`war`, `die`, `son`, `hat`) is left out of the other languages' lists: how rare
it is in the brain will weigh it there, while dropping it would lose an English question. So are single Latin letters
except `a` and `i` (vitamin D, plan B), and what may be a name or a month (Will, May, Dan, Mia).
"""

# ruff: noqa: RUF001 (Cyrillic letters are meant to be Cyrillic)

import re

__all__ = ["CJK_QUESTION_WORDS", "QUESTION_WORDS", "STOP_WORDS"]

_QUESTIONS = {
    "en": "what when where who whom whose which why how what's when's where's who's how's",
    "de": "was wann wo wer wem wessen welche welcher welches welchen warum wieso weshalb wie wohin woher",
    "fr": "que qui quoi quand où pourquoi quel quelle quels quelles combien lequel laquelle qu'est-ce",
    "es": "qué quién quiénes cuándo dónde cómo cuál cuáles cuánto cuánta cuántos cuántas por-qué",
    "it": "che chi cosa quando quale quali perché quanto quanta quanti quante cos'è dov'è",
    "pt": "que quem quando onde como qual quais porquê quanto quanta quantos quantas",
    "nl": "wat wanneer waar wie welke waarom hoe hoeveel waarheen",
    "sv": "vad vem vilken vilket vilka varför hur",
    "da": "hvad hvornår hvor hvem hvilken hvilket hvilke hvorfor hvordan",
    "pl": "co kto kiedy gdzie dlaczego jak jaki jaka jakie który która które ile",
    "cs": "kdo kdy kde proč jaký jaká jaké který která které kolik",
    "tr": "ne nerede neden niçin nasıl hangi kaç",
    "ru": "что кто когда где почему зачем как какой какая какое какие который сколько куда откуда",
    "uk": "що хто коли де чому як який яка яке які скільки",
    "id": "apa siapa kapan mana mengapa bagaimana berapa",
}

_FILLERS = {
    "en": """a an the this that these those i me my mine we us our ours you your yours he him his she her hers it its
        they them their theirs am is are was were be been being do does did doing done have has had having would
        shall should can could might must to of in on at by for from with about into onto over under as than then
        so and or but if because while there here not no nor too very just also any some such own both each
        isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't won't wouldn't can't couldn't
        shouldn't i'm i've i'd i'll you're you've it's that's there's tell please""",
    "de": """der das dem des ein eine einen einem einer eines und oder aber nicht kein keine ich mich mir du dich dir
        er sie es ihm ihn ihr ihnen wir uns ihre ihren ihrem sein seine seinen seinem mein meine meinen dein deine
        ist sind sei waren wird werden wurde wurden habe haben hatte hatten kann können mit von vom zu zum zur auf aus
        bei nach für über unter durch ohne gegen im ins am als auch nur noch schon sehr dass wenn weil doch""",
    "fr": """le la les un une des du de au aux et ou mais ne pas je tu il elle on nous vous ils elles se lui leur leurs
        mon ma mes ta tes sa ses notre votre nos vos ce cet cette ces est sont était étaient être été ont avait avoir
        dans avec sans sous sur chez vers entre est-ce il-y-a qu d' l' c'est j'ai""",
    "es": """el la un una unos unas pero no de del al en por para se lo le les sus mi mis tu tus es
        eran ser está están fue fueron estar ha había como más muy ya que quien cuando donde
        este esta estos estas ese esa eso nos nosotros yo ellos ellas""",
    "it": """il lo la i gli le un una ma non di del della dello dei degli delle a al alla da dal dalla nel
        nella nei sul sulla per tra fra si è sono erano essere stato ha hanno aveva avere mio tuo tua suo
        sua questo questa quello quella lui lei noi voi loro anche più""",
    "pt": """os a as um uma uns umas ou mas não de do da dos das em no na nos nas por pelo pela para com sem se é
        são eram foi foram ser estar está estão tem têm tinha meu minha teu tua seu sua seus suas este esta isso
        eu ele ela eles elas nós mais muito também""",
    "nl": """de het een en of maar niet geen ik je jij hij zij ze wij we jullie mij haar hun ons onze mijn jouw
        zijn is waren was wordt worden werd heeft hebben had kan kunnen voor naar met bij op in uit aan om te
        dat dit deze er ook nog wel als""",
    "sv": """en ett och eller men inte jag du hon ni de dem din är varit blir ha har hade kan med av
        till från på i som att det detta om för""",
    "da": "en et og eller men ikke jeg du hun de dem din er været bliver har havde kan med af til",
    "pl": "i na do że się nie jest są był była było były być to ta te po od dla czy już tylko",
    "cs": "a na se že je jsou byl byla bylo byly být to ta do jako i",
    "tr": "bir ve ile de da bu şu için mi mı mu mü değil",
    "ru": """и в во не на я он она оно они мы вы ты с со к ко у о об от до из за по для но а же ли бы был была было
        были быть есть это этот эта эти его её их мой моя твой наш ваш""",
    "uk": "і в у не на я він вона воно вони ми ви ти з до від за по для але а чи був була було були бути є це цей ця",
    "id": "yang di ke dari untuk dengan ini itu adalah tidak saya kamu dia mereka kami pada",
}

QUESTION_WORDS = frozenset(word for line in _QUESTIONS.values() for word in line.split())
STOP_WORDS = QUESTION_WORDS | frozenset(word for line in _FILLERS.values() for word in line.split())

CJK_QUESTION_WORDS = re.compile(
    "为什么|為什麼|什么时候|什麼時候|什么|什麼|怎么样|怎么|怎麼|哪里|哪裡|哪儿|多少|谁|誰|吗|嗎|呢"
    "|なんですか|何ですか|ですか|ますか|ましたか|でしたか|どこ|いつ|なぜ|どうして|どのように"
    "|누구|무엇|어디|언제|어떻게|얼마나|인가요|입니까|습니까|อะไร|ที่ไหน|เมื่อไหร่|ทำไม|อย่างไร|ใคร"
)
"""Question words of languages written without spaces (and endings of Korean): a question is cut at them."""
