"""Reading a task: an English sentence becomes an intent, or is refused as not understood."""

from __future__ import annotations

import re
from collections.abc import Callable

from prism_planner.domains.domain import InvalidTaskError
from prism_planner.domains.spine.expert import evidence
from prism_planner.domains.spine.expert.intent import (
    Around,
    Ask,
    Capacity,
    Condition,
    Exists,
    Explore,
    Find,
    FindPlace,
    GoTo,
    Hazards,
    Home,
    InspectIt,
    Intent,
    ListThings,
    Map,
    Part,
    Passage,
    Reach,
    Sequence,
    Target,
)
from prism_planner.domains.spine.expert.knowledge import knowledge
from prism_planner.domains.spine.expert.phrases import (
    Noun,
    activity,
    adjective_at,
    bare_end,
    clean,
    conditions_in,
    label,
    need,
    noun,
    trimmed,
)
from prism_planner.domains.spine.expert.words import singular

_HELP = (
    'say what to do or ask a question in English, as in "inspect the car", "find a place to sit", '
    '"is the path to the exit clear?" or "I lost my laptop"'
)


def read(task: str) -> Intent:
    """What a task means. Raises InvalidTaskError when it is not English or is not understood."""
    _check_language(task)
    text = clean(task)
    sentences = [s for s in re.split(r"(?<=[.!?;])\s+|\n+|(?<=[a-z])[.!?;]+(?=[a-z])", text) if re.search(r"[a-z]", s)]
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
        needed = need(trimmed(sentence)) if re.match(r"there is\b", sentence) and "?" not in sentence else None
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


def goal(intent: Intent, task: str = "") -> str:
    """A short restatement of an intent."""
    match intent:
        case GoTo():
            return f"go to {label(intent.target)}"
        case Map():
            return f"map {label(intent.target) if intent.target else 'the surroundings'}"
        case Explore():
            return f"explore around {label(intent.target) if intent.target else 'here'}"
        case InspectIt():
            return f"inspect {label(intent.target)}" + (f" for {intent.query}" if intent.query else "")
        case Find():
            return f"find {'your ' if intent.target.mine else ''}{label(intent.target)}"
        case FindPlace():
            adjectives = [evidence.properties()[c.property].positive[0] if c.value else f"not {c.property}" for c in intent.conditions if c.property in evidence.properties()]
            return f"find a {' '.join([*adjectives, 'place'])} to {knowledge().activities[intent.activity].verbs[0]}"
        case Ask():
            value = "" if intent.condition.value else "not "
            return f"see whether {label(intent.target)} is {value}{intent.condition.property}"
        case Exists():
            where = f" at {label(intent.target.near)}" if intent.target.near else ""
            return f"see whether there is {label(intent.target)}{where}"
        case Capacity():
            return f"see whether there is space to {knowledge().activities[intent.activity].verbs[0]}"
        case Passage():
            way = f"the way to {label(intent.destination)}" if intent.destination else label(intent.place) if intent.place else "the way"
            return f"see whether {way} is clear" + (f" of {label(intent.obstacle)}" if intent.obstacle else "")
        case Reach():
            return f"see whether {label(intent.target)} can be reached"
        case Around():
            return f"see what is near {label(intent.target)}"
        case Hazards():
            return f"look for dangers{f' in {label(intent.where)}' if intent.where else ''}"
        case Part():
            return f"go to the {intent.direction} of the scene"
        case Home():
            return "return to land" if intent.land else "return to the start"
        case ListThings():
            verb = "count" if intent.count else "list"
            return f"{verb} {label(intent.target) + 's' if intent.target else 'what is there'}"
        case Sequence():
            return ", then ".join(goal(step) for step in intent.steps)


# Language

_FOREIGN = frozenset(
    "der die das und ist nicht wo zum zur gehe geh finde bitte ein eine mein meine auf dem den inspiziere "
    "le la les un une des où est va vers trouve cherche dans mon ma sur aller pour avec "
    "el los las un una dónde donde está esta ve ir busca encuentra mi por favor hacia "
    "il lo gli vai dove trova cerca mio mia per con alla andare "
    "o os onde vá encontre procure meu minha para "
    "de het een waar ga naar zoek mijn vind".split()
)
_ENGLISH = frozenset(
    "the is are a an to my i where find go inspect map there any what of in on me near can need want you help it was for and".split()
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
        raise InvalidTaskError(f"the task seems not to be in English, which is the only language read here; {_HELP}")


# Sentences

_STATEMENT = re.compile(
    r"^(?:kids|children|visitors|guests|students|people|friends|customers|workers|tourists|families|toddlers|everyone|everybody|i|we|my|our|it|there (?:is|are|was|were)|the|this|that|these|those|because|since|thank|thanks|please|help|hello|hi|hey|he|she|they|you are|good|sorry|today|"
    r"tomorrow|tonight|yesterday|some|someone|somebody|a|an|oh|urgent|ok|okay|yes|no|be quick|hurry|be careful|take care|last|when|if|after|before|as|in|on|at|it is)\b"
)


def _is_statement(sentence: str) -> bool:
    """Whether a sentence that was not read may be left aside as background."""
    return "?" not in sentence and bool(_STATEMENT.match(trimmed(sentence) or "ok"))


_CLUE = re.compile(
    r"^(?:i|we) (?:was|were) (?P<doing>.+?) when (?:i|we) (?:last )?(?:saw|had|used|left|lost|noticed) (?:it|them|that|him|her)(?P<rest>)(?: last)?$|"
    r"(?:^|[,;] ?|\band |\bthat |\bwhich )(?:i|we) (?:think |believe |guess )?(?:(?:i|we) )?(?:may have |might have |must have |probably |had |just |definitely |could have )*"
    r"(?:last (?:saw|had|used|remember|left|seen)(?: seeing| having| using)?|saw|had|left|put|used|forgot|dropped|misplaced|placed|parked|set down)"
    r"(?: (?:it|them|that|him|her|my \w+))?(?: down)?(?: last)?(?P<where> .+)$"
    r"|(?:^|[,;] ?|\band )(?:it|they) (?:should|could|might|may|must|is probably|was|is likely|has to|are probably|were|is usually) (?:be |have been |probably )*(?P<there>.+)$"
)


def _clues(sentence: str) -> tuple[str, list[str]] | None:
    """A sentence that tells where something was: what stands before it, and the clues."""
    match = _CLUE.search(sentence.strip(" .!?"))
    if match is None:
        return None
    where = (match["where"] or match["there"] or "").strip() or f"while i was {match['doing']}"
    where = re.sub(r"^(?:somewhere|somehow|probably|maybe|yesterday|today|earlier|this morning|last night|it|last) ", "", where)
    found: list[str] = []
    doing = re.match(r"(?:when|while|as|during|before|after) (?:(?:i|we) (?:was|were|had been|am|are) |the |my )?(?P<what>.+)", where)
    if doing is not None:
        said = activity(doing["what"])
        if said is not None:
            found.append(said[0])
        if (place := re.search(r"\b(?:in|at|on|near|by|to|from) (?P<place>.+)$", doing["what"])) is not None:
            where = f"in {place['place']}"
    place = re.match(r"(?:in|at|on|near|by|next to|beside|under|inside|around|close to|behind|to|from|with|somewhere in|on top of) (?P<place>.+)", where)
    if place is not None:
        for part in re.split(r" or | and |, ", place["place"]):
            part = re.sub(r"^(?:in|at|on|near|by) ", "", part)
            if (thing := noun(re.split(r" (?:yesterday|today|earlier|this morning|last night|while|when)\b", part)[0])) is not None:
                found.append(thing.target.words)
    if not found:
        return None
    return sentence[: match.start()].strip(" ,;.!?"), found


def _with_clues(intent: Intent, clues: list[str]) -> Intent:
    if clues and isinstance(intent, Find):
        return intent.model_copy(update={"clues": (*intent.clues, *dict.fromkeys(clues))})
    return intent


_CONTEXT = re.compile(r"\b(?:tour of|visit(?:ing)? to|visit(?:ing)?|guests? in|kids? (?:in|to)|children (?:in|to)|around|in|at|through|into) (?P<place>(?:the|our|my|this) [\w ]+?)(?: (?:for|with|to|tomorrow|today|next|this|later|soon|on|at)\b.*)?$")


def _mentioned(sentence: str) -> Noun | None:
    """The place that a background sentence speaks of: "I will be giving a tour of the lab for kids"."""
    match = _CONTEXT.search(sentence.strip(" .!?"))
    return noun(match["place"]) if match else None


def _in_context(intent: Intent, context: list[Noun]) -> Intent:
    if isinstance(intent, Hazards) and intent.where is None:
        places = [n.target for n in context if (c := knowledge().concept(n.target.words)) and knowledge().concepts[c].is_region]
        if places:
            return Hazards(where=places[-1])
    return intent


_THEN = re.compile(
    r"\s*[,;]?\s*\b(?:and then|and after that|and afterwards|and finally|then|after that|afterwards|finally|followed by|and next|before you|and lastly|and subsequently|subsequently)\b[ ,]*"
)
_AND_VERB = re.compile(
    r"(?:,? and |, )(?=(?:please )?(?:go|return|come|head|drive|fly|inspect|map|explore|check|look|examine|find|locate|navigate|move|travel|search|scan|survey|see whether|see if|proceed|land|tell|report|let me|stop|wait|describe|"
    r"do not|investigate|answer)\b)"
)
_BEFORE = re.compile(r"\s*,?\s*\bbefore (?P<verb>returning|going|heading|coming|inspecting|mapping|exploring|checking|flying|driving)\b")
_AFTER = re.compile(r"^(?:after|once|when) (?:you (?:have |are )?)?(?P<first>[^,]+), (?P<second>.+)$")
_GERUNDS = {
    "returning": "return", "going": "go", "heading": "head", "coming": "come", "inspecting": "inspect", "mapping": "map", "exploring": "explore",
    "checking": "check", "flying": "fly", "driving": "drive", "visiting": "visit", "finding": "find", "inspected": "inspect", "mapped": "map",
    "explored": "explore", "visited": "visit", "found": "find", "checked": "check", "reached": "reach",
}  # fmt: skip
_IDLE = re.compile(
    r"^(?:where (?:can|should|could) (?:i|we) go|what (?:can|should|could|do) (?:i|we) do|what now|any ideas?|can you help|help(?: me)? out|what do you (?:suggest|recommend)|tell|report|let|answer|stop|wait|stay|describe it|describe what|come to a stop|do not|done|that is (?:all|it)|help|help me|thanks|thank you|please|hello|hi|hey|ok|okay|yes|no|cheers|it is urgent|hurry(?: up)?|"
    r"be (?:careful|quick|safe)|take your time|good (?:luck|job|morning|evening)|robot)\b(?: (?:me|us|back|to me|there|for me|what you (?:see|find|saw|found)|know|your findings|the result|about it|please|up|much|very|so|a lot|you|all|when (?:you are )?done|when you get there|"
    r"what it is|what you have (?:seen|found)|how it looks|on it|your|you|everything|touch|anything|the))*$"
)


def _steps(sentence: str) -> list[Intent] | None:
    """The intents of a sentence in their order, empty when it asks for nothing; None when it is not read."""
    sentence = trimmed(sentence)
    if not sentence or _IDLE.match(sentence):
        return []
    whole = _read_clause(sentence)
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
        read = _conjoined(part, last)
        if read is None and verb and noun(part) is not None:
            read = _conjoined(f"{verb} {part}", last)
        started = _VERB.match(trimmed(part))
        verb = started.group() if started else verb
        if read is None:
            return [whole] if whole is not None else None
        found += read
        last = next((t for i in reversed(found) if (t := getattr(i, "target", None)) is not None), last)
    return found or None


def _conjoined(part: str, last: Target | None) -> list[Intent] | None:
    part = trimmed(part)
    if not part or _IDLE.match(part):
        return []
    whole = _read_clause(_pronoun(part, last))
    if whole is not None:
        return [whole]
    pieces = _AND_VERB.split(part)
    if len(pieces) < 2:
        return _several(part)
    found: list[Intent] = []
    for piece in pieces:
        last = next((t for i in reversed(found) if (t := getattr(i, "target", None)) is not None), last)
        piece = trimmed(piece)
        if not piece or _IDLE.match(piece):
            continue
        intent = _read_clause(_pronoun(piece, last))
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
    return re.sub(r"\b(?:it|them|there)(?= *(?:$|for\b|closely|again|carefully))", f"the {last.words}", clause)


def _several(part: str) -> list[Intent] | None:
    """"inspect the chair and the table", "visit a, b and c"."""
    match = re.match(rf"(?P<verb>{_GO}|{_MAP}|{_EXPLORE}|{_INSPECT}|{_FIND}) (?P<list>.+)$", part)
    if match is None:
        return None
    things = re.split(r",? and (?:also )?(?:to )?|, ", match["list"])
    if len(things) < 2:
        return None
    found = [_read_clause(f"{match['verb']} {thing}") for thing in things]
    return [i for i in found if i is not None] if all(i is not None for i in found) else None


# Clauses: the first pattern that fits and whose parts can be read wins.

_GO = (
    r"(?:go|goto|go over|go back|head|head over|drive|drive over|fly|fly over|move|move over|navigate|travel|proceed|walk|get(?= to| over| near| into| back| close)|return|come|come back|relocate|make your way|find your way|take me|bring me|"
    r"lead me|guide me|visit|reach|approach|get close|take us|guide us|lead us|roll|advance|run|be|position yourself|park yourself|hover|stop)"
    r"(?: (?:to|towards?|over to|back to|up to|down to|at|into|over|near|on|by|next to|out to|all the way to|close to|onto|beside|in front of))?"
)
_MAP = (
    r"(?:map|map out|map the objects (?:at|in|on|near|around)|make a map of|create a map of|build a map of|generate a map of|map (?:everything|all objects) (?:at|in|on|near|around)|scan|survey|"
    r"(?:look|search) for objects (?:at|in|on|near|around)|produce a map of|do a survey of|record (?:all )?(?:the )?objects (?:at|in|on|near|around)|chart|perform mapping (?:at|of|in|around)|do mapping (?:at|of|in|around))"
)
_EXPLORE = r"(?:explore|scout|reconnoit(?:er|re)|go exploring|discover|explore around|do an exploration of|look around|scout out|roam|patrol|wander around)"
_INSPECT = (
    r"(?:inspect|examine|take a (?:closer |close |good |quick )?look at|have a (?:closer |close |good |quick )?look at|look (?:closely )?at|check out|check on|check up on|check|observe|look over|scrutini[sz]e|study|investigate|view|assess|"
    r"look closer at|get a (?:closer |good )?look at|do an inspection of|perform an inspection (?:of|on)|carry out an inspection of|analy[sz]e|evaluate|describe|photograph|take a (?:picture|photo) of|monitor|watch over|verify)"
)
_FIND = (
    r"(?:find|locate|look for|search for|look around for|track down|seek|seek out|hunt for|spot|get|fetch|retrieve|detect|identify|discover|find me|find us|get me|point me to|direct me to|show me|bring me to|"
    r"find out where (?:is|are)|recover|look everywhere for|be on the lookout for)"
)
_WANT = (
    r"(?:(?:i|we) (?:really |just |kind of |would |badly |urgently |also |currently |desperately )*(?:want|need|like|love|wish|have|am looking|are looking|plan|intend|hope|am trying|am going|are going|got|am about|am supposed|feel like|prefer|must|should|will)"
    r"(?: (?:really|also|badly))?(?: (?:to|for|you to find|to find))?)"
)
_PLACE = (
    r"(?:place|spot|area|location|space|somewhere|someplace|room|site|seat|anywhere|region|zone|surface|corner|bit of space|places|spots|position|point|building|environment|setting)"
)
_BE = r"(?:is|are|was|were|has|have)"
_AROUND = r"(?:near|around|next to|beside|close to|by|nearby|in the vicinity of|surrounding|adjacent to|in front of|behind|at|in|on|under|in the area of|alongside|within reach of|within sight of|with)"
_SCENE = r"(?:scene|area|map|environment|world|site|place|building|campus|region|space|park|field|floor|property|facility|room|complex|grounds|estate|village|terrain|graph|facility|neighbou?rhood|town)"
_WAY = r"(?:path|way|route|road|passage|walkway|access|corridor|hallway|trail|passageway|street|sidewalk|track|walk|aisle)"
_BLOCKED_WORDS = r"(?:blocked|obstructed|closed(?: off)?|impassable|barricaded|cut off|cordoned off|sealed off)"
_CLEAR_WORDS = r"(?:clear|open|free|passable|unobstructed|accessible|unblocked|safe(?: to (?:use|take|pass|walk|drive))?|navigable|traversable|drivable|walkable|usable|not blocked|okay|ok|empty|clear of (?:obstacles|obstructions|debris)|free of (?:obstacles|obstructions|debris)|safe to travel)"

_VERB = re.compile(rf"(?:{_MAP}|{_EXPLORE}|{_INSPECT}|{_GO}|{_FIND})(?= )")

_Builder = Callable[[re.Match[str]], Intent | None]


def _read_clause(clause: str) -> Intent | None:
    clause = trimmed(clause)
    for text in dict.fromkeys((clause, bare_end(clause))):
        for pattern, build in _PATTERNS:
            match = pattern.fullmatch(text)
            if match is not None and (intent := build(match)) is not None:
                return intent
    return None


def _t(text: str | None) -> Target | None:
    found = noun(text) if text else None
    return found.target if found else None


def _home(match: re.Match[str]) -> Intent | None:
    return Home(land="land" in match.group())


def _part(match: re.Match[str]) -> Intent | None:
    word = match["direction"].replace("-", "").replace(" ", "").replace("central", "center").replace("centre", "center").replace("middle", "center")
    word = re.sub(r"(?:ern)?(?:most)?$", "", word) if word != "center" else word
    return Part.model_validate({"direction": word})


def _goto(match: re.Match[str]) -> Intent | None:
    target = _t(match["np"])
    return GoTo(target=target) if target else None


def _map(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    if text is None or re.fullmatch(r"(?:the |this |your |my |our )?(?:current )?(?:area|surroundings?|region|place|here|scene|environment|location|room|position)(?: around (?:you|here|us|me))?|around(?: here| you)?", text):
        return Map()
    around = re.match(r"(?:the )?(?:area|region|surroundings?|space|vicinity|zone|place|neighbou?rhood|objects|everything)? ?(?:near|around|of|by|next to|close to|surrounding|beside|at|where) ", text)
    found = noun(text[around.end() :] if around else text)
    if found is None:
        return None
    target = found.target
    if found.plural and found.definite and knowledge().exact(target.words) is not None and singular(target.words.split()[-1]) != target.words.split()[-1]:
        concept = knowledge().exact(target.words)
        if concept and knowledge().concepts[concept].is_region:
            target = target.model_copy(update={"pick": "all"})
    return Map(target=target, around=bool(around))


def _explore(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    radius = float(match["radius"]) if match["radius"] else None
    if text is None or re.fullmatch(r"(?:the |this |your |my |our )?(?:current |unknown |nearby |immediate )?(?:area|surroundings?|region|place|here|scene|environment|location|space|world|building|terrain|neighbou?rhood)(?: around (?:you|here|us|me))?|around(?: here| you)?|more", text):
        return Explore(radius=radius)
    text = re.sub(r"^(?:the )?(?:area|region|surroundings?|space|vicinity|zone)? ?(?:near|around|of|by|next to|close to|beyond|behind|past|at|to|in|from) ", "", text)
    target = _t(text)
    return Explore(target=target, radius=radius) if target else None


def _inspect(match: re.Match[str]) -> Intent | None:
    text, query = match["np"], (match["query"] or "").strip()
    query = re.sub(r"^(?:any |its |the |signs? of |a )+", "", query)
    if re.match(r"(?:if|whether|that|for|what|where|how)\b", text):
        return None
    target = _t(text)
    if target is None:
        return None
    return InspectIt(target=target, query=query)


def _property(match: re.Match[str]) -> Intent | None:
    """"what colour is the car": look at it and say."""
    target = _t(match["np"])
    return InspectIt(target=target, query=match["query"].strip()) if target else None


def _condition_of(match: re.Match[str]) -> Intent | None:
    target = _t(match["np"])
    return InspectIt(target=target, query="condition") if target else None


def _find(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    place = _place_to(text)
    if place is not None:
        return place
    found = noun(text)
    if found is None:
        return None
    if found.target.words in ("place", "spot", "somewhere", "area"):
        return None
    if (afforded := _AFFORDED.get(knowledge().exact(found.target.words) or "")) is not None:
        return FindPlace(activity=afforded, conditions=tuple(c for c in found.target.conditions if c.property != "occupied"), near=found.target.near)
    if found.plural and found.target.pick == "all":
        return ListThings(target=found.target)
    return Find(target=found.target)


_AFFORDED = {"parking space": "park", "seat": "sit", "work surface": "work"}
"""Things that are wanted for what one does there, whichever they are."""


def _where(match: re.Match[str]) -> Intent | None:
    found = noun(match["np"])
    if found is None:
        return None
    return Find(target=found.target)


def _lost(match: re.Match[str]) -> Intent | None:
    found = noun(re.sub(r",? ?\b(?:somewhere|maybe|probably|perhaps|possibly|i think),?(?= |$)", "", match["np"]))
    if found is None:
        return None
    # Where it was lost is where to look first, not where it has to be.
    near = found.target.near
    return Find(target=found.target.model_copy(update={"near": None}), clues=(near.words,) if near else ())


_PLACE_TO = re.compile(
    rf"^(?:me |us |myself )?(?:a |an |the |any |some |another |one )*(?P<adj>(?:[\w-]+,? (?:and )?)*?)(?:{_PLACE})(?P<near1> {_AROUND} .+?)?"
    rf"(?: (?:where|in which|at which|on which) (?:i|we|one|you|my \w+|a person|people|the kids|kids|children)(?: \w+)? (?:can|could|may|might|am able to|are able to)| that is (?:good|suitable|suited|right|nice|great|fit|ideal) for| (?:good|suitable|suited|nice|right|great|ideal|fit|appropriate) (?:for|to)| to| for(?: me| us| my \w+| the \w+| kids)*(?: to)?| i can| we can|(?= (?:under|in|out|with|near|by|next|close|beside)\b)) ?(?P<verb>.+)$"
)


def _place_to(text: str) -> Intent | None:
    """"a shady place to read", "somewhere quiet to work", "a spot for parking my car"."""
    text = re.sub(r"^(somewhere|someplace|anywhere) (?P<adj>[\w-]+(?: and [\w-]+)?) (?=to |for |where )", r"\g<adj> \1 ", text)
    match = _PLACE_TO.match(text)
    if match is None:
        return None
    verb, conditions = _conditions_out(match["verb"])
    said = activity(verb)
    if said is None:
        return None
    adjectives = re.sub(r"\b(?:good|nice|suitable|free space|comfortable and|best|nearest|closest|decent|proper|safe place|better|perfect|lovely|great|possible|ideal)\b,? ?", "", match["adj"] or "").strip(" ,")
    while adjectives:
        stated = adjective_at(adjectives + " place")
        if stated is None:
            return None
        conditions.append(stated[0])
        adjectives = stated[1].removesuffix("place").strip()
    return _afford(said, conditions, match["near1"])


def _conditions_out(text: str) -> tuple[str, list[Condition]]:
    """A verb phrase without the conditions it states: "read in the shade" -> "read", shaded."""
    from prism_planner.domains.spine.expert.phrases import _SHADE

    conditions = []
    for pattern, condition in _SHADE:
        if re.search(pattern, text):
            conditions.append(condition)
            text = re.sub(pattern, "", text).strip()
    return text, conditions


def _afford(said: tuple[str, str], conditions: list[Condition], near: str | None = None) -> Intent | None:
    name, rest = said
    anchor = None
    match = re.search(rf"(?:^| )(?:near|next to|beside|by|under|close to|in|at|inside|around) (?:the |a |my |an )?(?P<np>[\w ]+)$", rest)
    if match is not None and (concept := knowledge().exact(match["np"].strip())) is not None:
        anchor = Target(words=concept if concept == match["np"] else match["np"].strip())
    if near is not None and (found := _t(re.sub(rf"^ ?{_AROUND} ", "", near))) is not None:
        anchor = found
    return FindPlace(activity=name, conditions=tuple(dict.fromkeys(conditions)), near=anchor)


def _activity(match: re.Match[str]) -> Intent | None:
    """"I want to watch a movie", "where can I park my car"."""
    verb, conditions = _conditions_out(match["verb"])
    said = activity(verb)
    return _afford(said, conditions) if said else None


def _want(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    place = _place_to(text)
    if place is not None:
        return place
    if (needed := need(match.group())) is not None:
        return FindPlace(activity=needed)
    found = noun(text)
    if found is None or knowledge().concept(found.target.words) is None:
        return None
    return _find(match)


def _capacity(match: re.Match[str]) -> Intent | None:
    said = activity(match["verb"])
    if said is None:
        return None
    where = re.search(r"(?:^| )(?:in|at|on|near) (?P<np>(?:the |a )?[\w ]+)$", said[1])
    return Capacity(activity=said[0], near=_t(where["np"]) if where else None)


def _parking(match: re.Match[str]) -> Intent | None:
    where = match["np"] if "np" in match.re.groupindex else None
    return Capacity(activity="park", near=_t(where) if where else None)


def _passage(match: re.Match[str]) -> Intent | None:
    blocked = bool(re.fullmatch(_BLOCKED_WORDS, match["state"]) or match["state"].startswith("not clear"))
    place, destination = match["way"], match["dest"]
    goal_ = _t(destination) if destination else None
    if destination and goal_ is None:
        return None
    by = match["by"] if "by" in match.re.groupindex else None
    obstacle = None if by is None or re.search(r"thing|obstacle|obstruction", by) else _t(by)
    if goal_ is not None:
        named = re.search(r"\d|_", place)
        return Passage(destination=goal_, place=_t(place) if named else None, obstacle=obstacle, blocked=blocked)
    target = _t(place)
    if target is None:
        return None
    concept = knowledge().concept(target.words)
    is_way = concept is not None and knowledge().concepts[concept].is_region
    if not is_way and concept is not None:
        return None
    return Passage(place=target, obstacle=obstacle, blocked=blocked)


def _blocking(match: re.Match[str]) -> Intent | None:
    subject, place = match["what"].strip(), match["np"]
    dest = re.match(rf"(?:the |my |our )?{_WAY} (?:to|towards|into|out of|from here to|leading to) (?P<dest>.+)$", place)
    target = None if dest else _t(place)
    goal_ = _t(dest["dest"]) if dest else None
    if target is None and goal_ is None:
        return None
    obstacle = None if re.fullmatch(r"(?:there )?(?:anything|something|any (?:thing|object|objects|obstacle|obstacles|obstruction)|an (?:obstacle|obstruction|object)|a blockage|obstacles|stuff|what)", subject) else _t(subject)
    if obstacle is None and not re.search(r"thing|obst|object|stuff|blockage|what", subject):
        return None
    return Passage(place=target, destination=goal_, obstacle=obstacle, blocked=True)


def _on_way(match: re.Match[str]) -> Intent | None:
    goal_ = _t(match["dest"])
    obstacle = None if re.search(r"thing|obstacle|obstruction", match["what"]) else _t(match["what"])
    return Passage(destination=goal_, obstacle=obstacle, blocked=True) if goal_ else None


def _reach(match: re.Match[str]) -> Intent | None:
    target = _t(match["np"])
    return Reach(target=target) if target else None


def _around(match: re.Match[str]) -> Intent | None:
    if re.fullmatch(r"(?:me|you|us|here|there|this|it)", match["np"]):
        return ListThings()
    target = _t(match["np"])
    return Around(target=target) if target else None


def _hazards(match: re.Match[str]) -> Intent | None:
    where = match["np"] if "np" in match.re.groupindex else None
    if where:
        where = re.sub(r"^(?:for|to) (?:kids|children|people|visitors|us|me|a child|them|humans|everyone)(?: (?:in|at|around|near))? ?", "", where)
    target = _t(where) if where else None
    if target is not None and (knowledge().concept(target.words) or "") in _PEOPLE:
        target = target.near
    return Hazards(where=target)


_PEOPLE = ("person", "child", "visitor", "student", "worker", "pedestrian", "group of people")


def _safe(match: re.Match[str]) -> Intent | None:
    found = noun(match["np"])
    if found is None:
        return None
    concept = knowledge().concept(found.target.words)
    if concept is None or not knowledge().concepts[concept].is_region:
        return None
    return Hazards(where=found.target)


def _exists(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    place = _place_to(text)
    if place is not None:
        return place
    words = text.split()
    if len(words) > 1 and (stated := conditions_in(words[-1])) is not None and (thing := noun(" ".join(words[:-1]))) is not None:
        return Exists(target=thing.target.model_copy(update={"conditions": (*thing.target.conditions, *stated)}))
    found = noun(text)
    if found is None or found.target.words in ("way", "objects", "things", "items", "object", "thing"):
        return None
    state = match["state"] if "state" in match.re.groupindex else None
    if state:
        conditions = conditions_in(state)
        if conditions is None:
            return None
        return Ask(target=found.target, condition=conditions[0], any=True)
    return Exists(target=found.target)


def _ask(match: re.Match[str]) -> Intent | None:
    text = f"{match['np']} {match['state']}"
    words = text.split()
    for cut in range(1, len(words)):
        subject, predicate = " ".join(words[:cut]), " ".join(words[cut:])
        conditions = conditions_in(predicate)
        if conditions is None or len(conditions) > 1:
            continue
        found = noun(subject)
        if found is None or re.match(r"(?:there|it|i|you|we|they)\b", subject):
            continue
        return _ask_about(found, conditions[0], bool(re.match(r"(?:any|some|one of|a|an)\b", subject)))
    return None


def _ask_about(found: Noun, condition: Condition, any_: bool) -> Intent:
    target = found.target
    concept = knowledge().concept(target.words)
    if concept in knowledge().roles.ways and condition.property in ("open", "blocked"):
        # A road that is open is one that is not blocked.
        return Passage(place=target, blocked=condition.value == (condition.property == "blocked"))
    if not any_ and found.plural and target.pick == "any":
        target = target.model_copy(update={"pick": "all"})
    return Ask(target=target, condition=condition, any=any_)


def _done_to(match: re.Match[str]) -> Intent | None:
    """"has rain damaged any roofs", "did the storm break the window": what happened to something."""
    found = noun(match["np"])
    conditions = conditions_in(re.sub(r"^(?:break|breaks|broke)$", "broken", re.sub(r"^(?:damage|damages)$", "damaged", match["state"])))
    if found is None or conditions is None or len(conditions) > 1:
        return None
    return _ask_about(found, conditions[0], bool(re.match(r"(?:any|some)\b", match["np"])))


def _damage_to(match: re.Match[str]) -> Intent | None:
    found = noun(match["np"])
    if found is None:
        return None
    return _ask_about(found, Condition(property="damaged"), bool(re.match(r"(?:any|some)\b", match["np"])) or found.plural)


def _on_it(match: re.Match[str]) -> Intent | None:
    """"is someone sitting on the bench", "is anyone using the printer": whether it is occupied."""
    found = noun(match["np"])
    return _ask_about(found, Condition(property="occupied"), False) if found else None


def _count(match: re.Match[str]) -> Intent | None:
    found = noun(match["np"])
    if found is None:
        return None
    where = found.target.near
    return ListThings(target=found.target.model_copy(update={"near": None}), where=where, count=True)


def _list(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    if re.fullmatch(r"(?:everything|(?:all )?(?:the )?(?:objects|things|items|stuff))(?: (?:you (?:can )?see|around(?: you| here)?|nearby|here))?", text):
        return ListThings()
    everything = re.fullmatch(r"(?:everything|(?:all )?(?:the )?(?:objects|things|items)) (?:in|at|on|near|around) (?P<where>.+)", text)
    if everything is not None:
        where = _t(everything["where"])
        return ListThings(where=where) if where else None
    found = noun(text)
    if found is None:
        return None
    where = found.target.near
    return ListThings(target=found.target.model_copy(update={"near": None, "pick": "any"}), where=where)


def _see(match: re.Match[str]) -> Intent | None:
    where = match["np"]
    if where is None:
        return ListThings()
    target = _t(where)
    return ListThings(where=target) if target else None


def _compile(table: list[tuple[str, _Builder]]) -> list[tuple[re.Pattern[str], _Builder]]:
    return [(re.compile(pattern), build) for pattern, build in table]


_DIRECTION = r"(?P<direction>(?:north|south)[ -]?(?:east|west)(?:ern)?(?:most)?|(?:north|south|east|west)(?:ern)?(?:most)?|cent(?:er|re)|central|middle)"

_PATTERNS = _compile([
    # Home
    (rf"(?:{_GO}|return|head|fly|drive|come|go) ?(?:back )?(?:to )?(?:where (?:you|we|i) (?:started|began|came from|were|took off)(?: from)?|(?:the |your |our )?(?:start(?:ing)?(?: (?:point|position|location|place|region|area))?|"
     r"initial (?:position|location|point|region)|origin(?:al (?:position|location|place|point))?|base|home(?: base| position| location)?|place (?:you|where you) started(?: from)?|beginning|first (?:location|position)|take ?off (?:point|location)))", _home),
    (r"(?:return|go|come|head|fly|drive|get)(?: back)?(?: home| to base| to the start| back| to start)?", lambda m: Home() if re.search(r"home|back|base|start|return", m.group()) else None),
    (r"(?:return|come back|go back|fly back|head back|fly home|go home|return home|come|go|prepare|get ready|it is time|time)(?: (?:home|back|to base))?,? (?:to|and|for|in order to) (?:land|landing|touch down)(?: (?:safely|the drone|now|yourself|there))?", lambda m: Home(land=True)),
    (r"(?:land|touch down|perform a landing|do a landing|end the flight|abort and land|abort the mission and land|finish the flight|land (?:the drone|now|safely|yourself|immediately)|return to launch|rtl|return to (?:the )?(?:landing|land)(?: (?:site|zone|area))?)", lambda m: Home(land=True)),
    # Parts of the scene
    (rf"(?:{_GO}|{_EXPLORE}|check|find) (?:the )?{_DIRECTION}(?: ?-?(?:part|side|end|edge|portion|half|corner|area|section|region|most part|most point|point|most region|extreme|boundary))?(?: (?:of|in|on) (?:the |this |our )?(?:whole |known |entire )?{_SCENE})?", _part),
    (rf"(?:{_GO}) (?:as )?(?:far )(?:to the )?{_DIRECTION}(?: as (?:possible|you can))?", _part),
    (rf"(?:{_GO}) (?:the )?(?:part|side|end|edge|corner|area|region|section) (?:of (?:the )?{_SCENE} )?(?:that is |which is )?(?:(?:farthest|furthest|most|far) )?(?:to |in |towards? )?(?:the )?{_DIRECTION}", _part),
    # Hazards
    (rf"(?:whether |is |are |was )?(?:there )?(?:is |are )?(?:there )?(?:any ?thing|something|any|some|things?)(?: (?:here|around here|around|nearby|there))*(?: (?:potentially|that is|that could be|which is|that are|that might be|objects|things|object|items|item|obviously))* ?(?:dangerous|hazardous|unsafe|harmful|risky|a danger|a hazard|risk|danger|hazards?|dangers|risks|safety (?:hazards?|risks?|issues?|concerns?)|that could (?:hurt|harm|injure) (?:\w+ ?)+|that is not safe|that kids should not touch)(?: (?:objects?|things?|items?|materials?|equipment))?(?: (?:around(?: here)?|there|here|nearby))?(?: (?:in|at|on|near|around|inside|for|to) (?P<np>.+))?", _hazards),
    (r"(?:what|which)(?: (?:things|objects|items|equipment))? (?:here |there |around here )?(?:is|are|could be|might be|may be) (?:dangerous|hazardous|unsafe|a hazard|hazards|risky|harmful|a danger)(?: (?:for|to) (?:\w+))?(?: (?:in|at|on|near|around|inside) (?P<np>.+))?", _hazards),
    (r"(?:find|locate|identify|list|report|look for|search for|point out|check for|scan for|detect|look out for|inspect for|watch for|warn me (?:about|of)|what are)(?: me)? (?:any |all |the |all the |potential |possible |some )*(?:hazards?|dangers?|dangerous (?:things|objects|items|stuff|equipment|areas)|hazardous (?:things|objects|items|materials)|safety (?:hazards?|risks?|issues?|problems?)|risks?|threats?|anything (?:dangerous|hazardous|unsafe)|unsafe (?:things|objects|items|conditions))(?: (?:in|at|on|near|around|inside) (?P<np>.+))?", _hazards),
    (r"(?:whether |is )?(?P<np>(?:the|this|that|my|our) [\w ]+?|it)(?: is)? (?:a )?(?:safe|dangerous|hazardous|unsafe|risky)(?: place| area)?(?: (?:for|to) (?:kids|children|visitors|people|me|us|my \w+|a child|enter|visit|walk|play|work|the public|toddlers|my children|my kids)(?: (?:in|there|to (?:visit|enter|play)))?)?", _safe),
    # Passage
    (rf"(?:whether |is |are )?(?:there )?(?P<what>[\w ]+?)(?: is| are| be)? (?:blocking|obstructing|in|impeding|closing|closing off|lying across|standing in|covering) (?:the way (?:on|of|in|along) )?(?P<np>(?:the |my |our |this |that |a |any )?[\w ]+?)", lambda m: _blocking(m) if not re.search(r" in$", m.group()[: m.start("np") - m.start()].rstrip()) else None),
    (rf"(?:what|which (?:object|thing)) (?:is|are) (?:blocking|obstructing) (?P<np>.+)(?P<what>)", lambda m: Passage(place=_t(m["np"]), blocked=True) if _t(m["np"]) else None),
    (rf"(?:does|do|did|has|have) (?P<what>[\w ]+?) (?:block|obstruct|blocked|obstructed|cut off|closed|close off) (?P<np>.+)", _blocking),
    (rf"(?:whether |is |are |has )?(?:there )?(?P<what>any ?thing|something|an obstacle|any obstacles?|an obstruction|any obstructions?|debris|any debris|construction|any construction|obstacles) (?:on|along|in|blocking|across|obstructing) (?:the |my |our )?{_WAY} (?:to|towards|into) (?P<dest>.+)", _on_way),
    (rf"(?:whether |is |are )?(?P<way>(?:the |my |our |this |that |any )?(?:[\w-]+ )*?{_WAY}s?(?:[ _]?\d+)?)(?: (?:that leads |leading |going )?(?:to|towards|into|out to|from here to|between here and|out of|up to|toward) (?P<dest>.+?))?(?: is| are| still| currently| being| completely| now| all)* (?P<state>{_CLEAR_WORDS}|{_BLOCKED_WORDS}|not clear)(?: (?:of|from) (?:any )?(?:obstacles|obstructions|debris|traffic|objects|anything|construction))?(?: by (?P<by>[\w ]+?))?(?: for (?:me|us|walking|driving|the robot|vehicles|cars|a \w+|traffic|pedestrians))?(?: to (?:pass|walk|drive|use|go|drive on|walk on))?", _passage),
    (rf"(?:is|are) (?:there )?(?:a |any )?(?P<state>{_CLEAR_WORDS}) (?P<way>{_WAY}) (?:to|towards|into|out to) (?P<dest>.+)", _passage),
    (rf"(?:whether )?(?P<way>(?:the |my |our )[\w ]+?) (?:is|are) (?P<state>{_BLOCKED_WORDS}|{_CLEAR_WORDS})(?P<dest>)", _passage),
    (rf"(?:can|could|will|may|do|does) (?:i|we|you|one|people|someone|a person|cars|a car|the robot|my \w+|pedestrians|vehicles|traffic) (?:pass|walk|drive|go|use|take|travel|get|cross|proceed|bike|ride)(?: safely)?(?: (?:through|along|on|down|over|via|across|past|by))? (?P<np>(?:the |this |that )?(?:[\w-]+ )*?(?:{_WAY})(?:[ _]?\d+)?)(?: safely| freely)?", lambda m: Passage(place=_t(m["np"])) if _t(m["np"]) else None),
    # Space
    (r"(?:whether |is |are )?(?:there )?(?:is |are )?(?:there )?(?:any |enough |some |still |a |free |available |more |empty |open |sufficient )*(?:space|room|spot|spots|spaces|place|capacity|places)(?: (?:left|available|free|remaining|anywhere|open|nearby))* (?:to|for me to|for us to|where i can|for|in which to) (?P<verb>(?:park|land|lock|store|leave|camp|parking|sit|work|play|swim).*)", _capacity),
    (r"(?:whether |is |are )?(?:there )?(?:is |are )?(?:there )?(?:any |enough |some |a |free |available |empty |open |still )*(?:parking|parking (?:space|spot|place|bay)s?|car park spaces?|spots?|spaces?|room|space)(?: (?:left|available|free|remaining|open))?(?: for (?:my|a|the|our) (?:car|truck|van|vehicle|suv))?(?: (?:left|available|free|remaining|open|nearby))?(?: (?:in|at|on|near) (?P<np>.+))?", lambda m: _parking(m) if re.search(r"park|car|truck|van|vehicle|suv", m.group()) else None),
    (r"(?:whether |is |are )?(?P<np>(?:the |any |a )?(?:parking lot|car park|lot|parking area|parking|garage)(?:[ _]\d+)?)(?: is| are)? (?:full|at capacity|completely full|packed)", lambda m: Ask(target=_t(m["np"]) or Target(words="parking lot"), condition=Condition(property="full"))),
    (r"(?:is it|whether it is|would it be|can (?:i|we|you|the drone)|is there (?:a )?(?:safe )?(?:place|space|room)) (?:safe |possible |ok |okay )?(?:to )?(?:safely )?land(?: safely| here| there| now)?", lambda m: Passage(place=Target(words="landing strip", also=("landing pad", "helipad")))),
    # Reachability
    (r"(?:can|could|may|am|are|is|will) (?:i|we|you|the robot|one|someone|a person|my \w+|it|anyone|people|it be possible|it possible)(?: (?:still|even|actually|safely|easily|possibly|able|possible))*(?: to)? (?:get|reach|go|drive|walk|make it|travel|access|navigate|enter|arrive|come|fly)(?: (?:over|through|all the way|across|from here|back|safely))?(?: (?:to|at|into|inside))? (?P<np>.+?)(?: from here)?", _reach),
    (r"(?:whether )?(?:is|are)? ?(?P<np>.+?) (?:is |are )?(?:reachable|accessible|within reach|connected|possible to reach|attainable|approachable)(?: from here| by (?:car|foot|road))?", _reach),
    (r"(?:is|whether) (?:there )?(?:is )?(?:a |any |some )*(?:way|route|path|road|access|connection) (?:to get to|to reach|to|into|leading to|going to|for me to (?:get to|reach)|that leads to|which leads to) (?P<np>.+?)(?: from here)?", _reach),
    (r"(?:how (?:do|can|could|would|should) (?:i|we)) (?:get|go|reach|drive|walk)(?: (?:to|into|over to))? (?P<np>.+?)(?: from here)?", _reach),
    # What is near
    (rf"(?:whether )?(?:what|which (?:objects|things|items|regions))(?: (?:objects|things|items|else|all|stuff))?(?: (?:is|are|do you see|can you see|do you find|can be found|lies|stands|can i find|there is|there are))*(?: (?:located|found|seen|there|right|immediately|directly|situated|placed))* {_AROUND} (?P<np>(?!around|here).+)", _around),
    (r"(?:what|which (?:objects|things)) (?:surrounds?|is surrounding|are surrounding|neighbou?rs|borders) (?P<np>.+)", _around),
    (r"(?:describe|tell (?:me|us) about|report|list|show(?: me)?|name|inspect|look at|examine|survey|check)(?: (?:on|what))? (?:everything|the (?:surroundings?|area|neighbou?rhood|vicinity|objects|things|environment)|what(?: is)?|all objects|objects|anything|things) (?:of|around|near|surrounding|next to|close to|by|beside|nearby) (?P<np>.+)", _around),
    (r"(?:describe|tell me about) (?P<np>.+?)(?:'s| his| its) (?:surroundings|vicinity|neighbou?rhood)", _around),
    # What is seen
    (r"(?:what|describe what|tell me what|report what|what objects|which objects|list what|say what|what things) (?:do you|can you|you|do we|can be|is|are|did you|you can)(?: (?:see|find|seen|observe|there|visible|found))+(?: (?:around|here|around you|nearby|there))*(?: (?:in|at|on) (?P<np>.+))?", _see),
    (r"(?:describe|report on|summari[sz]e|give me (?:an overview|a description|a summary) of) (?:the |this |your |our )?(?:scene|surroundings?|environment|area|situation|place|location|world)(?P<np>)", lambda m: ListThings()),
    (r"how many (?P<np>.+?)(?: (?:are|is|do you|can you|have|were) ?(?:there|see|you see|here|around|we have|visible|found|you find)*)?(?: (?:around|here|there|in total|nearby))*", _count),
    (r"(?:count|count up|count the number of|tell me the number of|what is the number of|give me the number of) (?P<np>.+)", _count),
    (r"(?:list|enumerate|name|report|give me a list of|tell me about|make a list of|write down|find|locate|identify|note) (?P<np>(?:all|every|everything|each|the objects|objects)\b.*)", _list),
    (r"(?:list|enumerate|name|give me a list of|make a list of) (?P<np>.+)", _list),
    # Happened to, damage, use
    (r"(?:whether |has |have |did |does )?(?:the |a |any |some )?(?:heavy |recent |last |strong )?(?:rain|storm|wind|hail|snow|weather|flood|flooding|fire|earthquake|hurricane|tornado|construction|lightning|rainfall|thunderstorm|water|bad weather|accident|someone|somebody|anyone|something)(?: has| have)? (?P<state>damaged?|destroyed|broken|break|broke|flooded|harmed|wrecked|ruined|hit|cracked|burned|burnt|blocked|soaked|scratched|dented) (?P<np>.+)", _done_to),
    (r"(?:whether )?(?:is|are|was|were|has|have|do you see|can you see) ?(?:there )?(?:been )?(?:any |some |much |visible |signs of |storm |water |rain |evidence of )*damages? (?:to|on|at|of|in) (?P<np>.+)", _damage_to),
    (r"(?:check|inspect|look at|examine|survey|assess|look for|search for|find|look|evaluate|verify)(?: (?P<np>.+?))?(?: for| for any| for signs of| for storm| for water| for rain) (?:any |visible |signs of |storm |water |rain |possible )*damages?", lambda m: _damage_to(m) if m["np"] else None),
    (r"(?:look for|search for|find|report|assess|check for|check|evaluate|inspect|survey) (?:any |the |visible |signs of |storm |water |rain |possible )*damages? (?:to|on|at|of|in) (?P<np>.+)", _damage_to),
    (r"(?:do|does) (?P<np>.+?) (?:have|show|has) (?:any |some |signs of |visible )*(?:damages?|dents?|cracks?|leaks?|scratches|holes)", _damage_to),
    (r"(?:whether )?(?:is|are)? ?(?:there )?(?:anybody|anyone|someone|somebody|a person|people|any people)(?: is| are)? (?:sitting |seated |sleeping |lying |standing |working |using |sat )+(?:on|in|at|under|near)? ?(?P<np>.+)", _on_it),
    # Yes/no about a state
    (rf"(?:whether |{_BE} |did |was |were )(?P<np>(?:the|my|our|any|all|some|those|these|this|that|both|a|an|each|every|one of)? ?[\w' -]+?) (?:{_BE} |been |be |being |seem |look |looks |seems )*(?P<state>(?:not )?[\w -]+)", _ask),
    (r"(?:does|do) (?P<np>.+?) (?:seem|look|appear|appear to be|seem to be|still) (?P<state>(?:not )?[\w -]+)", _ask),
    (r"(?:does|do) (?P<np>(?:the|my|our|any|this|that|those) .+?) (?P<state>work|function|operate|leak|run)", lambda m: Ask(target=t, condition=Condition(property="damaged" if m["state"] == "leak" else "working")) if (t := _t(m["np"])) else None),
    (r"(?:what is|what was|what are) (?:the )?(?:condition|state|status|shape|appearance) (?:of|with) (?P<np>.+)", _condition_of),
    (r"(?:how is|how are|how does|how do|in what (?:condition|state|shape) (?:is|are)) (?P<np>(?:the|my|our) .+?)(?: (?:look|doing|look like|looking))?", _condition_of),
    (r"(?:what|which) (?P<query>colou?r|size|material|type|kind|brand|model|shape|condition|make|height|state|species|age|contents?|text|number) (?:is|are|does|do|has|have) (?P<np>.+?)(?: have| made of| made from)?", _property),
    (r"what is (?:the )?(?P<query>colou?r|size|material|type|kind|brand|model|shape|make|height|species|age|contents?|text|number|owner|temperature|label) of (?P<np>.+)", _property),
    (r"(?:what|who) (?P<query>is (?:on|in|written on|inside)) (?P<np>(?:the|my) .+)", _property),
    # Activities and places
    (rf"where (?:can|could|may|might|should|do|would|shall) (?:i|we|one|my \w+|the kids|kids|people|someone|you)(?: (?:go|possibly|best|safely|legally|find a place|get some space|find somewhere|go in order|best))*(?: to)? (?P<verb>.+)", _activity),
    (r"where (?:can|could|do|would|might|should) (?:i|we|one)(?: \w+)? (?:find|get|buy|see|locate) (?P<np>.+)", _find),
    (rf"(?:{_FIND}|{_GO}|suggest|recommend|choose|pick|select|offer|where is|is there|are there|do you have|do you know of|know of|whether there is|search|look) (?P<np>.+)", lambda m: _place_to(m["np"])),
    (rf"{_WANT} (?P<np>.+)", lambda m: _place_to(m["np"])),
    (rf"{_WANT} (?P<verb>.+)", _activity),
    (r"(?:it is time to|time to|time for|let us|shall we|can (?:i|we)|could (?:i|we)|i can not wait to|how about|i feel like|is it possible to|who wants to|i am ready to|i am in the mood (?:to|for)|i am off to|i am here to|i came to|my plan is to|i am planning to|i would rather|we came to) (?P<verb>.+?)(?: somewhere| anywhere| here| around here| nearby)?", _activity),
    (r"(?:my (?:friends?|kids?|children|son|daughter|guests?|team|colleagues?|dog|students?|parents?|family)(?: and i)?|the kids|the children|kids|she|he|they|somebody|someone|a friend of mine|our guests?) (?:wants?|needs?|would like|likes?|has|have|is looking for a place|are looking for a place|is going) (?:to|a place to|somewhere to) (?P<verb>.+)", _activity),
    # Lost and found
    (r"(?:i|we) (?:seem to |think i |appear to |believe i )?(?:have |had |just |really |accidentally |actually )*(?:lost|misplaced|forgot|left behind|dropped|am missing|miss|am looking for|are looking for|can not find|am searching for|mislaid|forgot where (?:i|we) (?:put|left|parked)|do not (?:know|remember) where (?:i|we) (?:put|left|parked)|do not (?:know|remember) where|left|have no idea where) (?P<np>(?:my|our|the|a) .+?)(?: (?:is|are|somewhere|went|again|is gone))*", _lost),
    (r"(?P<np>(?:my|our) [\w ]+?) (?:is|are|has|have|went|got|seems to be|ran) (?:been )?(?:lost|missing|gone|stolen|away|disappeared|vanished|misplaced|off|nowhere to be found|run away|escaped|wandered off|gone missing)(?: away| again)?", _lost),
    (rf"{_WANT} (?:help |assistance )?(?:to )?(?:find(?:ing)?|locat(?:e|ing)|look(?:ing)? for|search(?:ing)? for|see(?:ing)?|get|retrieve|recover|have|track(?:ing)? down|know where (?:is|are)?|for) ?(?P<np>.+?)(?: is| are)?", _find),
    (r"(?:do you know |tell me |show me |any idea |can you tell me )?where (?:is|are|did (?:i|we) (?:leave|put|park|see|drop)|have i (?:left|put|parked)|might|could|would|has|have) (?:i find )?(?P<np>.+?)(?: (?:be|located|gone|go|been|is|are|at|parked|now))?", _where),
    (r"where (?P<np>(?:the|my|our|a) .+?) (?:is|are|was|might be|could be)(?: located| parked)?", _where),
    (r"(?:have you seen|did you see|do you see|can you see|seen|has anyone seen|did anyone see|did you find|can you find|have you found) (?P<np>.+?)(?: anywhere| somewhere)?", lambda m: _find(m) if re.search(r"\bmy\b|\bour\b|\bthe\b", m["np"]) else _exists(m)),
    # Existence
    (r"(?:whether |is |are |was |were )?there (?:is |are )?(?:still |currently |perhaps |maybe )?(?P<np>.+)", _exists),
    (r"(?:does|do) (?:the |this )?(?:area|scene|place|building|environment|room|campus) have (?P<np>.+)", _exists),
    (r"(?:whether |is |are )(?P<np>(?:a|an|any|some) [\w ]+?)(?: is| are)?(?: (?:around|here|nearby|present|available|in sight|visible|there|anywhere))+", _exists),
    (r"(?:do|does|is|are|has|have) (?:you|we|anybody|anyone) (?:see|notice|have|detect|spot|find) (?P<np>.+)", _exists),
    (r"(?:check|see|verify|determine) (?:for|whether there (?:is|are)|if there (?:is|are)) (?P<np>.+)", _exists),
    (r"(?P<np>any (?!one|body|thing)[\w ]+)", _exists),
    (r"(?:check|inspect|look at|scan|survey|examine|search) (?P<place>(?:the|my|our) .+?) for (?:any |some |signs of )?(?P<np>.+)", lambda m: Exists(target=t.model_copy(update={"near": _t(m["place"])})) if (t := _t(m["np"])) and t.near is None and _t(m["place"]) and (c := knowledge().concept(t.words)) and knowledge().concepts[c].is_object else None),
    # Imperatives
    (rf"(?:{_MAP})(?: (?P<np>.+))?", _map),
    (rf"(?:{_EXPLORE})(?: (?P<np>.+?))?(?: (?:within|with|in|for|using|to)(?: a)?(?: radius of| range of)? (?P<radius>\d+(?:\.\d+)?) ?(?:m|meters?|metres?)(?: radius)?)?", _explore),
    (rf"(?:{_INSPECT}) (?P<np>(?:if|whether) .+)(?P<query>)", lambda m: _read_clause(m["np"])),
    (rf"(?:{_INSPECT}) (?P<np>.+?)(?: (?:for|to see its|and report its|to find out its|to determine its|to check its|looking for|and tell me its|and tell me about its|to learn its) (?P<query>[\w ]+)| (?:closely|carefully|thoroughly|in detail|up close|more closely))?(?P<q2>)", _inspect),
    (rf"(?:{_GO}) (?:somewhere|a place|any place|a spot|someplace|anywhere) (?P<np>.+)", lambda m: _place_to(f"place {m['np']}")),
    (rf"(?:{_GO}) (?:the )?(?:area|region|place|location|spot|surroundings|vicinity|position) (?:near|around|by|next to|close to|of|where) (?P<np>.+)", _goto),
    (r"(?:show|tell|lead|guide|point)(?: me| us) the (?:way|route|path|direction|road) (?:to|towards?|into|out to) (?P<np>.+)", _goto),
    (rf"(?:{_GO}) (?P<np>.+)", _goto),
    (rf"(?:{_FIND})(?: me| us)? (?P<np>.+)", _find),
    (rf"{_WANT} (?P<np>.+)", _want),
    (rf"(?:i|we) (?:am|are) (?:looking|searching|hunting) for (?P<np>.+)", _find),
])  # fmt: skip
