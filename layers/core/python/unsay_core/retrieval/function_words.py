"""Words that say little in the languages that are known: which are left out of what is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Without accents, as the lexicon folds them. A language that is not here keeps all its words.
_ENGLISH = (
    "a about am an and any are as at be been being but by can could did do does doing for from had has "
    "have having he her hers him his how i if in into is it its just me my no not of on or our ours she "
    "should so some than that the their theirs them then there these they this those to too us very was "
    "we were what when where which who whom whose why will with would you your yours dont didnt doesnt "
    "isnt im ive"
)
_OTHERS = (
    "aber als am an auch auf aus bei bin bist da das dass dein dem den der des die du ein eine einem "
    "einen einer er es fur hat habe haben hatte ich ihr ihre im in ist ja kann man mein mit nach nicht "
    "noch nur oder sein seine sich sie sind so uber um und uns von vor war waren was wann warum wer wie "
    "wir wird wo zu zum zur",
    "a au aux avec ce ces cette comment dans de des du elle en est et etait eu il ils j je l la le les "
    "leur lui ma mais me mes moi mon n ne nous ou par pas pour qu quand que quel quelle qui quoi s sa "
    "sans ses son sont sur ta te tu un une vous y a ont",
    "al como con cual cuando de del donde el ella en era es esta este estan fue ha han hay la las le les "
    "lo los mas me mi mis muy no nos o para pero por porque que quien se ser si sin sobre son su sus te "
    "tu un una y yo",
    "ao as com como da das de do dos e ela ele em era esta eu foi ha isso mais mas me meu minha na nao "
    "nas no nos o onde os ou para pela pelo por qual quando que quem se ser seu sua sao te tem um uma "
    "voce",
    "a al alla anche ai che chi ci come con cosa da dal de dei del della di dove e era ha hanno ho i il "
    "in io la le lei lo loro lui ma mi mio mia ne nel nella no non o per perche piu quale quando quello "
    "questo se si sono su sua suo ti tu un una uno",
    "aan als bij dat de den der die dit door een en er haar had heb heeft het hij hoe ik in is je kan "
    "maar me met mijn naar niet nog of om ons ook op over te tot uit van voor waar was wat we wel wie wij "
    "ze zij zijn zo",
)
_LANGUAGES = tuple(frozenset(words.split()) for words in (_ENGLISH, *_OTHERS))


def telling(words: Sequence[str]) -> list[str]:
    """The words without the function words of their language, which is the one they have most of.

    All of them, where no known language shows or nothing else would be left.
    """
    counts = [sum(word in language for word in words) for language in _LANGUAGES]
    if not any(counts):
        return list(words)
    spoken = _LANGUAGES[counts.index(max(counts))]
    return [word for word in words if word not in spoken] or list(words)
