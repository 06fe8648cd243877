"""Parts of English sentences: cleaned text, noun phrases as targets, activities."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from prism_planner.domains.spine.expert import evidence
from prism_planner.domains.spine.expert.intent import Condition, Pick, Target
from prism_planner.domains.spine.expert.knowledge import knowledge
from prism_planner.domains.spine.expert.words import singular

_CONTRACTIONS = (
    (r"\b(what|where|who|how|there|here|that|it|he|she)'s\b", r"\1 is"),
    (r"\bi'm\b", "i am"),
    (r"\bi've\b", "i have"),
    (r"\bi'd (?=like|love|prefer)", "i would "),
    (r"\bi'd\b", "i had"),
    (r"\bi'll\b", "i will"),
    (r"\bwe're\b", "we are"),
    (r"\bwe'd (?=like|love)", "we would "),
    (r"\bwe've\b", "we have"),
    (r"\bwe'll\b", "we will"),
    (r"\bthey're\b", "they are"),
    (r"\byou're\b", "you are"),
    (r"\bcan't\b|\bcan ?not\b", "can not"),
    (r"\bwon't\b", "will not"),
    (r"\b(\w+)n't\b", r"\1 not"),
    (r"\blet's\b", "let us"),
    (r"\bwanna\b", "want to"),
    (r"\bgonna\b", "going to"),
    (r"\bgotta\b", "have to"),
    (r"\b(i|we) (?:can not|could not|did not|do not know where i) (?:find|locate) ", r"\1 lost "),
)


def clean(text: str) -> str:
    """Lower case, plain quotes, single spaces, contractions written out; sentence marks are kept."""
    text = unicodedata.normalize("NFKC", text).lower().replace("’", "'").replace("`", "'")
    text = re.sub(r"[\"“”«»()\[\]{}]", " ", text)
    for pattern, plain in _CONTRACTIONS:
        text = re.sub(pattern, plain, text)
    return " ".join(text.split())


_POLITE_START = re.compile(
    r"^(?:(?:please|pls|plz|kindly|hey|hi|hello|dear|robot|rover|jackal|drone|husky|buddy|"
    r"ok|okay|so|well|now|first|firstly|next|also|"
    r"and|then|thank you|thanks|excuse me|sorry|oh|um|uh|alright|right|quick question|"
    r"question|just|simply|quickly|carefully|again|finally|"
    r"good (?:morning|afternoon|evening)|help(?=[ ,]*(?:i|my|where)\b)|oh no|ugh|urgent|"
    r"emergency|attention|mission|task|command|instruction|goal)\b[ ,:;!.-]*"
    r"|(?:can|could|would|will) you (?:please |kindly |perhaps |maybe |possibly |just |"
    r"quickly )*(?!be )(?=\w)"
    r"|would you mind |do you mind |do you think you (?:can|could) |are you able to |is "
    r"it possible for you to "
    r"|(?:i|we) (?:would|'d) (?:really )?(?:like|love) (?:you|the robot) to |(?:i|we) "
    r"(?:really )?(?:want|need|would like) (?:you|the robot) to "
    r"|(?:your|the) (?:task|job|mission|goal|objective) is to |you (?:should|must|have to|"
    r"need to|can|will) |try to |be so kind (?:as|and) to |be a dear and "
    r"|(?:go ahead|come on|let us) and |let us |go and |go (?=inspect|map|explore|check|"
    r"find|look|see|examine|get|search|to )(?!to )|come and "
    r"|(?:help|assist) (?:me|us)(?: to| with| in)? (?=\w)|(?:make sure|be sure|remember) "
    r"(?:to|you) |do me a favou?r and |proceed to |i wonder if you (?:can|could) "
    r"|(?:i|we) (?:wonder|am wondering|was wondering) (?:if|whether) |(?:can|could) you "
    r"(?:tell|show) (?:me|us) |(?:tell|show|let) (?:me|us) (?:know )?"
    r"(?=if|whether|what|where|how|which|is|are|has|a place)|do you (?:know|see|think)(?: "
    r"if| whether)? (?=where|what|if|whether|there|the|my|any|a )|find out (?=if|whether|"
    r"what|where|how|which)"
    r"|(?:check|see|verify|determine|confirm|look|investigate|assess) (?=if|whether|that)|"
    r"report (?=if|whether|what|where))"
)
_POLITE_END = re.compile(
    r"(?:,+ ?robot|[ ,;:-]+(?:please|pls|thanks|thank you|thank you very much|thanks a "
    r"lot|for me|for us|help|help me|asap|now|right now|immediately|quickly|"
    r"if (?:you can|possible|you could|you do not mind)|as soon as possible|would you|"
    r"will you|could you|can you|ok|okay|today|right away|"
    r"and (?:report|tell me|let me know|report back)(?: (?:back|to me|what you (?:see|"
    r"find|found)|about it|your findings))?|at once|"
    r"and stop(?: there)?|and (?:stay|wait) there|or something|or so|somewhere|around "
    r"here|nearby|anywhere|here|in the (?:area|scene|vicinity|environment|neighbou?rhood)|"
    r"around this area|in this area|over there))+$"
)


def trimmed(clause: str) -> str:
    """A clause without what is only polite."""
    clause = clause.strip(" ,.;:!?-")
    before = None
    while before != clause:
        before = clause
        clause = _POLITE_START.sub("", clause, count=1).strip(" ,.;:!?-")
        clause = re.sub(
            r"^(?:if|whether|that) (?=(?:the|there|my|any|a|an|i|it|this|that|those|these|our|"
            r"anyone|anybody|someone|somebody|anything|something|all|some|one|both|each|"
            r"construction|debris|rain)\b)",
            "whether ",
            clause,
        )
        clause = re.sub(
            r"(?:,+ ?robot|[ ,;:-]+(?:please|thanks|thank you|for me|help|help me|asap|right now|"
            r"immediately|if possible|right away|now))$",
            "",
            clause,
        )
    return clause


def bare_end(clause: str) -> str:
    """A clause without what may follow it politely or vaguely ("nearby", "around here")."""
    return _POLITE_END.sub("", clause).strip()


_DETERMINER = re.compile(
    r"^(?:all of the|all the|each of the|every one of the|one of the|some of the|any of "
    r"the|the|a|an|any|some|that|this|those|these|all|every|each|both|"
    r"our|his|her|their|your|its|one|another|single|other|whatever|kind of|type of|sort "
    r"of|pair of|my own|my|the user's|user's) "
)
_MINE = re.compile(r"\b(?:my|our|mine)\b")
_ALL = re.compile(r"^(?:all|every|each|both)\b")
_PICKS: dict[str, Pick] = {
    "nearest": "nearest",
    "closest": "nearest",
    "farthest": "farthest",
    "furthest": "farthest",
    "most distant": "farthest",
    "northernmost": "northernmost",
    "southernmost": "southernmost",
    "easternmost": "easternmost",
    "westernmost": "westernmost",
    "most northern": "northernmost",
    "most southern": "southernmost",
    "most eastern": "easternmost",
    "most western": "westernmost",
    "first": "first",
    "last": "last",
    "northern": "northernmost",
    "southern": "southernmost",
    "eastern": "easternmost",
    "western": "westernmost",
    "leftmost": "westernmost",
    "rightmost": "easternmost",
}
_PICK = re.compile(rf"^(?:{'|'.join(sorted(_PICKS, key=len, reverse=True))}) ")
_RELATION = re.compile(
    r" (?:that (?:is|are|stands?|lies?|sits?) |which (?:is|are) |located |standing |lying "
    r"|parked |placed |situated |positioned |right |directly |somewhere |sitting )?"
    r"(?:near to|near|nearby|next to|beside|by|under|beneath|below|underneath|on top of|"
    r"on|in front of|inside of|inside|in|at|behind|around|along|close to|within|across|"
    r"adjacent to|opposite|over|above|outside of|outside|from) (?=\w)"
)
_RELATIVE = re.compile(
    r" (?:that|which|who) (?:is|are|has been|have been|was|were|looks?|seems?) "
    r"(?P<rest>.+)$"
)
_PURPOSE = re.compile(r" (?:to|for) (?!the\b).+$")
_PLAIN = evidence.COLOURS | {
    "wooden",
    "metal",
    "plastic",
    "glass",
    "stone",
    "leather",
    "striped",
    "round",
    "square",
    "tall",
}
_FILLER = re.compile(
    r"^(?:big|large|small|little|huge|tiny|nice|good|suitable|nearby|lost|missing|old|new|"
    r"certain|actual|entire|whole|favou?rite|decent|proper|possible|visible|local|closest "
    r"possible|best|"
    r"lovely|beautiful|great|safe and|parked|known|specific|main one|additional) "
)
_VERBISH = re.compile(
    r"\b(?:is|are|was|were|has|have|had|am|do|does|did|will|would|can|could|should|what|"
    r"why|how|because|when|if|whether|i|you|we|they)\b"
)
_NO_NOUN = re.compile(
    r"\b(?:and|then|or|but|before|after|me|us|not|to|for|where|somewhere|maybe|probably|"
    r"the|a|an|my|our|your)\b|[,;]"
)
_NOTHING = frozenset(
    [
        "it",
        "them",
        "this",
        "that",
        "there",
        "here",
        "anything",
        "something",
        "everything",
        "one",
        "ones",
        "me",
        "you",
        "him",
        "her",
        "us",
        "someone",
        "anyone",
        "nothing",
        "stuff",
        "thing",
        "things",
        "way",
        "place",
        "somewhere",
    ]
)
MAX_WORDS = 7


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun phrase. plural: its head is in the plural. definite: it is "the ..." or "my ..."."""

    target: Target
    plural: bool
    definite: bool


def noun(text: str) -> Noun | None:
    """The target that a noun phrase means; None when it is none."""
    text = bare_end(text.strip(" ,.;:!?")).strip()
    text = re.sub(
        r"^(?:region|object|node|location|area|place|spot|position|waypoint) (?:called |named "
        r"|labell?ed )?(?=[\w-]+_\d+$)",
        "",
        text,
    )
    text = re.sub(
        r"^(?:the )?(?:area|region|surroundings?|vicinity|location|position|place|spot|zone) "
        r"(?:near|around|of|by|where) (?=the |my |a |\w+$)",
        "",
        text,
    )
    near: Target | None = None
    conditions: list[Condition] = []
    whole = _bare(text)
    if knowledge().exact(whole) is None:
        if (relative := _RELATIVE.search(text)) is not None and not _RELATION.match(f" {relative['rest']}"):
            found = conditions_in(relative["rest"])
            if found is None:
                return None
            conditions += found
            text = text[: relative.start()]
        for word, condition in SHADE:
            if re.search(word, text):
                conditions.append(condition)
                text = re.sub(word, "", text).strip()
        if (relation := _RELATION.search(text)) is not None:
            anchor = noun(text[relation.end() :])
            if anchor is None:
                return None
            near = anchor.target
            text = text[: relation.start()]
    mine = bool(_MINE.search(text))
    everything = bool(_ALL.match(text))
    definite = bool(
        re.match(r"^(?:all |both |each |every )?(?:of )?(?:the|my|our|those|these|that|this|both)\b", text)
    )
    text = re.sub(r" of (?:mine|ours)$", "", text)
    pick: Pick = "all" if everything else "any"
    before = None
    while before != text:
        before = text
        text = _DETERMINER.sub("", text)
        if knowledge().exact(text) is not None:
            break
        if (match := _PICK.match(text)) is not None:
            pick = _PICKS[match.group().strip()]
            text = text[match.end() :]
        text = _FILLER.sub("", text)
        first, _, rest = text.partition(" ")
        if rest and (stated := adjective_at(text)) is not None:
            conditions.append(stated[0])
            text = stated[1]
        elif rest and first in _PLAIN:
            conditions.append(Condition(property=first))
            text = rest
    if knowledge().exact(text) is None and knowledge().exact(_PURPOSE.sub("", text)) is not None:
        text = _PURPOSE.sub("", text)
    text = text.strip()
    if not _is_noun(text):
        return None
    words = text.split()
    plural = singular(words[-1]) != words[-1]
    return Noun(
        Target(words=text, mine=mine, conditions=tuple(dict.fromkeys(conditions)), near=near, pick=pick),
        plural,
        definite,
    )


def _is_noun(text: str) -> bool:
    words = text.split()
    if not words or len(words) > MAX_WORDS or text in _NOTHING or not re.search(r"[a-z]", text):
        return False
    return knowledge().exact(text) is not None or not (_VERBISH.search(text) or _NO_NOUN.search(text))


def _bare(text: str) -> str:
    before = None
    while before != text:
        before = text
        text = _DETERMINER.sub("", text)
    return text


SHADE = (
    (
        r" ?\b(?:with|that has|that have|having|offering|providing) (?:some |a lot of |good |"
        r"plenty of )?shade\b",
        Condition(property="shaded"),
    ),
    (r" ?\b(?:in|under|with) (?:the )?shade\b", Condition(property="shaded")),
    (r" ?\b(?:out of|away from|protected from|sheltered from) the sun\b", Condition(property="shaded")),
    (r" ?\bin the sun(?:shine|light)?\b", Condition(property="shaded", value=False)),
    (r" ?\bin (?:peace(?: and quiet)?|quiet|silence|private)\b", Condition(property="quiet")),
    (r" ?\bthat (?:works|is working)\b", Condition(property="working")),
)


def adjective_at(text: str) -> tuple[Condition, str] | None:
    """The condition that the first words state, and the rest: "not occupied chair"."""
    words = text.split()
    for size in (3, 2, 1):
        if len(words) > size:
            head, rest = " ".join(words[:size]), " ".join(words[size:])
            negated = head.startswith("not ")
            condition = evidence.adjective(head) or (evidence.adjective(head[4:]) if negated else None)
            if condition is not None and knowledge().exact(text) is None:
                if negated and evidence.adjective(head) is None:
                    condition = Condition(property=condition.property, value=not condition.value)
                return condition, re.sub(r"^(?:and|,) ?", "", rest)
    return None


def conditions_in(text: str) -> list[Condition] | None:
    """The conditions that a predicate states: "not occupied", "free and in the shade"; else None."""
    found = []
    for piece in re.split(r" and | but |, ?", text.strip()):
        opened = re.sub(
            r"^(?:currently|still|already|completely|fully|really|very|too|all|also|even|at all|"
            r"actually|yet|being|now|quite|so|any) ",
            "",
            piece.strip(),
        )
        part = re.sub(
            r"(?: yet| already| now| at the moment| right now| currently| at all| anymore| any "
            r"more| today| properly| still| enough| somehow| badly| in any way| by anyone| by "
            r"someone| by somebody| or not| safely)+$",
            "",
            opened,
        )
        negated = part.startswith("not ")
        bare = re.sub(
            r"^(?:currently|still|already|completely|fully|really|very|too) ",
            "",
            part[4:] if negated else part,
        )
        condition = evidence.adjective(part) or evidence.adjective(bare)
        for pattern, shade in SHADE:
            if condition is None and re.fullmatch(pattern.lstrip(" ?"), bare):
                condition = shade
        if condition is None and bare in _PLAIN:
            condition = Condition(property=bare)
        if condition is None:
            return None
        if negated and evidence.adjective(part) is None:
            condition = Condition(property=condition.property, value=not condition.value)
        found.append(condition)
    return found or None


_SMALL = re.compile(
    r"\b(?:a|an|the|my|some|our|any|your|his|her|their|this|that|bit of|little|quick|few|"
    r"good|nice) "
)


@lru_cache(maxsize=1)
def _verbs() -> dict[str, str]:
    table: dict[str, str] = {}
    for activity in knowledge().activities.values():
        for verb in (activity.name, *activity.verbs):
            for form in (_SMALL.sub("", verb + " ").strip(), _gerund(_SMALL.sub("", verb + " ").strip())):
                table.setdefault(form, activity.name)
    return table


def _gerund(verb: str) -> str:
    first, space, rest = verb.partition(" ")
    if first.endswith("ie"):
        form = first[:-2] + "ying"
    elif first.endswith("e") and not first.endswith(("ee", "oe")):
        form = first[:-1] + "ing"
    elif re.search(r"[^aeiou][aeiou][bdgklmnprt]$", first) and first not in (
        "listen",
        "open",
        "enter",
        "shelter",
        "garden",
        "print",
    ):
        form = first + first[-1] + "ing"
    else:
        form = first + "ing"
    return form + space + rest


def activity(text: str) -> tuple[str, str] | None:
    """The activity that a verb phrase begins with, and what is left: "sit near the window"."""
    words = _SMALL.sub("", text.strip(" ,.;:!?") + " ").split()
    table = _verbs()
    for size in range(min(len(words), 7), 0, -1):
        found = table.get(" ".join(words[:size]))
        if found is not None:
            return found, " ".join(words[size:])
    return None


def need(text: str) -> str | None:
    """The activity whose need a sentence expresses: "I am tired"."""
    for entry in knowledge().activities.values():
        if any(re.search(pattern, text) for pattern in entry.needs):
            return entry.name
    return None
