"""Reading a task: an English sentence becomes an intent, or is refused as not understood."""

from __future__ import annotations

import re

from prism_planner.domains.domain import InvalidTaskError
from prism_planner.domains.spine.expert.clauses import read_clause
from prism_planner.domains.spine.expert.intent import (
    Find,
    FindPlace,
    Hazards,
    Intent,
    Sequence,
    Target,
)
from prism_planner.domains.spine.expert.knowledge import knowledge
from prism_planner.domains.spine.expert.phrases import (
    Noun,
    activity,
    clean,
    need,
    noun,
    trimmed,
)
from prism_planner.domains.spine.expert.vocabulary import EXPLORE, FIND, GO, INSPECT, MAP, VERB

_HELP = (
    'say what to do or ask a question in English, as in "inspect the car", "find a place to sit", '
    '"is the path to the exit clear?" or "I lost my laptop"'
)


def read(task: str) -> Intent:
    """What a task means. Raises InvalidTaskError when it is not English or is not understood."""
    _check_language(task)
    text = clean(task)
    sentences = [
        s for s in re.split(r"(?<=[.!?;])\s+|\n+|(?<=[a-z])[.!?;]+(?=[a-z])", text) if re.search(r"[a-z]", s)
    ]
    explicit: list[Intent] = []
    needs: list[str] = []
    unread: list[str] = []
    clues: list[str] = []
    context: list[Noun] = []
    for sentence in sentences:
        if (clue := _clues(sentence)) is not None and (len(sentences) > 1 or clue[0]):
            before = _steps(clue[0]) if clue[0] else []
            clues += clue[1]
            explicit += before or []
            if clue[0] and not before:
                unread.append(clue[0])
            continue
        needed = (
            need(trimmed(sentence)) if re.match(r"there is\b", sentence) and "?" not in sentence else None
        )
        if needed:
            needs.append(needed)
            continue
        steps = _steps(sentence)
        if steps:
            explicit += steps
        elif steps is None:
            needed = need(trimmed(sentence)) or need(sentence)
            needs += [needed] if needed else []
            unread += [] if needed else [sentence]
            if not needed and (mentioned := _mentioned(sentence)) is not None:
                context.append(mentioned)
    if not explicit and needs:
        explicit = [FindPlace(activity=needs[0])]
    if not explicit or any(not _is_statement(s) for s in unread):
        what = next((s for s in unread if not _is_statement(s)), None) or (unread[0] if unread else text)
        raise InvalidTaskError(f"the task is not understood: {what[:80]!r}; {_HELP}")
    steps_ = [_with_clues(_in_context(intent, context), clues) for intent in explicit]
    steps_ = [s for i, s in enumerate(steps_) if i == 0 or s != steps_[i - 1]]
    return steps_[0] if len(steps_) == 1 else Sequence(steps=tuple(steps_))


# Language

_FOREIGN = frozenset(
    [
        "der",
        "die",
        "das",
        "und",
        "ist",
        "nicht",
        "wo",
        "zum",
        "zur",
        "gehe",
        "geh",
        "finde",
        "bitte",
        "ein",
        "eine",
        "mein",
        "meine",
        "auf",
        "dem",
        "den",
        "inspiziere",
        "le",
        "la",
        "les",
        "un",
        "une",
        "des",
        "où",
        "est",
        "va",
        "vers",
        "trouve",
        "cherche",
        "dans",
        "mon",
        "ma",
        "sur",
        "aller",
        "pour",
        "avec",
        "el",
        "los",
        "las",
        "un",
        "una",
        "dónde",
        "donde",
        "está",
        "esta",
        "ve",
        "ir",
        "busca",
        "encuentra",
        "mi",
        "por",
        "favor",
        "hacia",
        "il",
        "lo",
        "gli",
        "vai",
        "dove",
        "trova",
        "cerca",
        "mio",
        "mia",
        "per",
        "con",
        "alla",
        "andare",
        "o",
        "os",
        "onde",
        "vá",
        "encontre",
        "procure",
        "meu",
        "minha",
        "para",
        "de",
        "het",
        "een",
        "waar",
        "ga",
        "naar",
        "zoek",
        "mijn",
        "vind",
    ]
)
_ENGLISH = frozenset(
    [
        "the",
        "is",
        "are",
        "a",
        "an",
        "to",
        "my",
        "i",
        "where",
        "find",
        "go",
        "inspect",
        "map",
        "there",
        "any",
        "what",
        "of",
        "in",
        "on",
        "me",
        "near",
        "can",
        "need",
        "want",
        "you",
        "help",
        "it",
        "was",
        "for",
        "and",
    ]
)


def _check_language(task: str) -> None:
    letters = [c for c in task if c.isalpha()]
    if not letters:
        raise InvalidTaskError(f"the task has no words; {_HELP}")
    if sum(c.isascii() for c in letters) < 0.7 * len(letters):
        raise InvalidTaskError(f"the task is not in English, which is the only language read here; {_HELP}")
    words = re.findall(r"[^\W\d_]+", task.lower())
    foreign = sum(w in _FOREIGN and w not in _ENGLISH for w in words)
    if foreign >= 2 and foreign > sum(w in _ENGLISH for w in words):
        raise InvalidTaskError(
            f"the task seems not to be in English, which is the only language read here; {_HELP}"
        )


# Sentences

_STATEMENT = re.compile(
    r"^(?:kids|children|visitors|guests|students|people|friends|customers|workers|"
    r"tourists|families|toddlers|everyone|everybody|i|we|my|our|it|there (?:is|are|was|"
    r"were)|the|this|that|these|those|because|since|thank|thanks|please|help|hello|hi|hey|"
    r"he|she|they|you are|good|sorry|today|"
    r"tomorrow|tonight|yesterday|some|someone|somebody|a|an|oh|urgent|ok|okay|yes|no|be "
    r"quick|hurry|be careful|take care|last|when|if|after|before|as|in|on|at|it is)\b"
)


def _is_statement(sentence: str) -> bool:
    """Whether a sentence that was not read may be left aside as background."""
    return "?" not in sentence and bool(_STATEMENT.match(trimmed(sentence) or "ok"))


_CLUE = re.compile(
    r"^(?:i|we) (?:was|were) (?P<doing>.+?) when (?:i|we) (?:last )?(?:saw|had|used|left|"
    r"lost|noticed) (?:it|them|that|him|her)(?P<rest>)(?: last)?$|"
    r"(?:^|[,;] ?|\band |\bthat |\bwhich )(?:i|we) (?:think |believe |guess )?(?:(?:i|we) "
    r")?(?:may have |might have |must have |probably |had |just |definitely |could have "
    r")*"
    r"(?:last (?:saw|had|used|remember|left|seen)(?: seeing| having| using)?|saw|had|left|"
    r"put|used|forgot|dropped|misplaced|placed|parked|set down)"
    r"(?: (?:it|them|that|him|her|my \w+))?(?: down)?(?: last)?(?P<where> .+)$"
    r"|(?:^|[,;] ?|\band )(?:it|they) (?:should|could|might|may|must|is probably|was|is "
    r"likely|has to|are probably|were|is usually) (?:be |have been |probably "
    r")*(?P<there>.+)$"
)


def _clues(sentence: str) -> tuple[str, list[str]] | None:
    """A sentence that tells where something was: what stands before it, and the clues."""
    match = _CLUE.search(sentence.strip(" .!?"))
    if match is None:
        return None
    where = (match["where"] or match["there"] or "").strip() or f"while i was {match['doing']}"
    where = re.sub(
        r"^(?:somewhere|somehow|probably|maybe|yesterday|today|earlier|this morning|last "
        r"night|it|last) ",
        "",
        where,
    )
    found: list[str] = []
    doing = re.match(
        r"(?:when|while|as|during|before|after) (?:(?:i|we) (?:was|were|had been|am|are) |the "
        r"|my )?(?P<what>.+)",
        where,
    )
    if doing is not None:
        said = activity(doing["what"])
        if said is not None:
            found.append(said[0])
        if (place := re.search(r"\b(?:in|at|on|near|by|to|from) (?P<place>.+)$", doing["what"])) is not None:
            where = f"in {place['place']}"
    place = re.match(
        r"(?:in|at|on|near|by|next to|beside|under|inside|around|close to|behind|to|from|with|"
        r"somewhere in|on top of) (?P<place>.+)",
        where,
    )
    if place is not None:
        for piece in re.split(r" or | and |, ", place["place"]):
            part = re.sub(r"^(?:in|at|on|near|by) ", "", piece)
            if (
                thing := noun(
                    re.split(r" (?:yesterday|today|earlier|this morning|last night|while|when)\b", part)[0]
                )
            ) is not None:
                found.append(thing.target.words)
    if not found:
        return None
    return sentence[: match.start()].strip(" ,;.!?"), found


def _with_clues(intent: Intent, clues: list[str]) -> Intent:
    if clues and isinstance(intent, Find):
        return intent.model_copy(update={"clues": (*intent.clues, *dict.fromkeys(clues))})
    return intent


_CONTEXT = re.compile(
    r"\b(?:tour of|visit(?:ing)? to|visit(?:ing)?|guests? in|kids? (?:in|to)|children "
    r"(?:in|to)|around|in|at|through|into) (?P<place>(?:the|our|my|this) [\w ]+?)(?: "
    r"(?:for|with|to|tomorrow|today|next|this|later|soon|on|at)\b.*)?$"
)


def _mentioned(sentence: str) -> Noun | None:
    """The place that a background sentence speaks of: "I will be giving a tour of the lab for kids"."""
    match = _CONTEXT.search(sentence.strip(" .!?"))
    return noun(match["place"]) if match else None


def _in_context(intent: Intent, context: list[Noun]) -> Intent:
    if isinstance(intent, Hazards) and intent.where is None:
        places = [
            n.target
            for n in context
            if (c := knowledge().concept(n.target.words)) and knowledge().concepts[c].is_region
        ]
        if places:
            return Hazards(where=places[-1])
    return intent


_THEN = re.compile(
    r"\s*[,;]?\s*\b(?:and then|and after that|and afterwards|and finally|then|after that|"
    r"afterwards|finally|followed by|and next|before you|and lastly|and subsequently|"
    r"subsequently)\b[ ,]*"
)
_AND_VERB = re.compile(
    r"(?:,? and |, )(?=(?:please )?(?:go|return|come|head|drive|fly|inspect|map|explore|"
    r"check|look|examine|find|locate|navigate|move|travel|search|scan|survey|see whether|"
    r"see if|proceed|land|tell|report|let me|stop|wait|describe|"
    r"do not|investigate|answer)\b)"
)
_BEFORE = re.compile(
    r"\s*,?\s*\bbefore (?P<verb>returning|going|heading|coming|inspecting|mapping|"
    r"exploring|checking|flying|driving)\b"
)
_AFTER = re.compile(r"^(?:after|once|when) (?:you (?:have |are )?)?(?P<first>[^,]+), (?P<second>.+)$")
_GERUNDS = {
    "returning": "return",
    "going": "go",
    "heading": "head",
    "coming": "come",
    "inspecting": "inspect",
    "mapping": "map",
    "exploring": "explore",
    "checking": "check",
    "flying": "fly",
    "driving": "drive",
    "visiting": "visit",
    "finding": "find",
    "inspected": "inspect",
    "mapped": "map",
    "explored": "explore",
    "visited": "visit",
    "found": "find",
    "checked": "check",
    "reached": "reach",
}
_IDLE = re.compile(
    r"^(?:where (?:can|should|could) (?:i|we) go|what (?:can|should|could|do) (?:i|we) do|"
    r"what now|any ideas?|can you help|help(?: me)? out|what do you (?:suggest|recommend)|"
    r"tell|report|let|answer|stop|wait|stay|describe it|describe what|come to a stop|do "
    r"not|done|that is (?:all|it)|help|help me|thanks|thank you|please|hello|hi|hey|ok|"
    r"okay|yes|no|cheers|it is urgent|hurry(?: up)?|"
    r"be (?:careful|quick|safe)|take your time|good (?:luck|job|morning|evening)|"
    r"robot)\b(?: (?:me|us|back|to me|there|for me|what you (?:see|find|saw|found)|know|"
    r"your findings|the result|about it|please|up|much|very|so|a lot|you|all|when (?:you "
    r"are )?done|when you get there|"
    r"what it is|what you have (?:seen|found)|how it looks|on it|your|you|everything|touch|anything|the))*$"
)


def _steps(sentence: str) -> list[Intent] | None:
    """The intents of a sentence in their order, empty when it asks for nothing; None when it is not read."""
    sentence = trimmed(sentence)
    if not sentence or _IDLE.match(sentence):
        return []
    whole = read_clause(sentence)
    if whole is not None and not _THEN.search(sentence):
        return [whole]
    after = _AFTER.match(sentence)
    if after is not None:
        first = re.sub(r"^\w+", lambda m: _GERUNDS.get(m.group(), m.group()), after["first"])
        sentence = f"{first}, then {after['second']}"
    sentence = _BEFORE.sub(lambda m: f", then {_GERUNDS[m['verb']]}", sentence)
    found: list[Intent] = []
    last: Target | None = None
    verb = ""
    for part in _THEN.split(sentence):
        read = _conjoined(part, last, verb)
        started = VERB.match(trimmed(part))
        verb = started.group() if started else verb
        if read is None:
            return [whole] if whole is not None else None
        found += read
        last = next((t for i in reversed(found) if (t := getattr(i, "target", None)) is not None), last)
    return found or None


def _conjoined(part: str, last: Target | None, verb: str) -> list[Intent] | None:
    """The intents of what stands between two "then"s; `verb`: of the part before, for "then the table"."""
    part = trimmed(part)
    if not part or _IDLE.match(part):
        return []
    whole = read_clause(_pronoun(part, last))
    if whole is not None:
        return [whole]
    pieces = _AND_VERB.split(part)
    if verb and noun(pieces[0]) is not None:
        pieces[0] = f"{verb} {pieces[0]}"
    elif len(pieces) < 2:
        return _several(part)
    found: list[Intent] = []
    for raw in pieces:
        last = next((t for i in reversed(found) if (t := getattr(i, "target", None)) is not None), last)
        piece = trimmed(raw)
        if not piece or _IDLE.match(piece):
            continue
        intent = read_clause(_pronoun(piece, last))
        if intent is None:
            listed = _several(piece)
            if listed is None:
                return None
            found += listed
        else:
            found.append(intent)
    return found


def _pronoun(clause: str, last: Target | None) -> str:
    if last is None:
        return clause
    return re.sub(
        r"\b(?:it|them|there)(?= *(?:$|for\b|closely|again|carefully))", f"the {last.words}", clause
    )


def _several(part: str) -> list[Intent] | None:
    """ "inspect the chair and the table", "visit a, b and c"."""
    match = re.match(rf"(?P<verb>{GO}|{MAP}|{EXPLORE}|{INSPECT}|{FIND}) (?P<list>.+)$", part)
    if match is None:
        return None
    things = re.split(r",? and (?:also )?(?:to )?|, ", match["list"])
    if len(things) < 2:
        return None
    found = [read_clause(f"{match['verb']} {thing}") for thing in things]
    return [i for i in found if i is not None] if all(i is not None for i in found) else None
