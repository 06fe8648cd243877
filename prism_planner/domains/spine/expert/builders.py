"""From a matched pattern to the intent that it means; None when its parts cannot be read."""

from __future__ import annotations

import re

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
    Target,
)
from prism_planner.domains.spine.expert.knowledge import knowledge
from prism_planner.domains.spine.expert.phrases import (
    SHADE,
    Noun,
    activity,
    adjective_at,
    conditions_in,
    need,
    noun,
)
from prism_planner.domains.spine.expert.vocabulary import AROUND, BLOCKED_WORDS, PLACE, WAY
from prism_planner.domains.spine.expert.words import singular


def read_target(text: str | None) -> Target | None:
    found = noun(text) if text else None
    return found.target if found else None


def home(match: re.Match[str]) -> Intent | None:
    return Home(land="land" in match.group())


def part(match: re.Match[str]) -> Intent | None:
    word = (
        match["direction"]
        .replace("-", "")
        .replace(" ", "")
        .replace("central", "center")
        .replace("centre", "center")
        .replace("middle", "center")
    )
    word = re.sub(r"(?:ern)?(?:most)?$", "", word) if word != "center" else word
    return Part.model_validate({"direction": word})


def goto(match: re.Match[str]) -> Intent | None:
    target = read_target(match["np"])
    return GoTo(target=target) if target else None


def map_place(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    if text is None or re.fullmatch(
        r"(?:the |this |your |my |our )?(?:current )?(?:area|surroundings?|region|place|here|"
        r"scene|environment|location|room|position)(?: around (?:you|here|us|me))?|around(?: "
        r"here| you)?",
        text,
    ):
        return Map()
    around = re.match(
        r"(?:the )?(?:area|region|surroundings?|space|vicinity|zone|place|neighbou?rhood|"
        r"objects|everything)? ?(?:near|around|of|by|next to|close to|surrounding|beside|at|"
        r"where) ",
        text,
    )
    found = noun(text[around.end() :] if around else text)
    if found is None:
        return None
    target = found.target
    if (
        found.plural
        and found.definite
        and knowledge().exact(target.words) is not None
        and singular(target.words.split()[-1]) != target.words.split()[-1]
    ):
        concept = knowledge().exact(target.words)
        if concept and knowledge().concepts[concept].is_region:
            target = target.model_copy(update={"pick": "all"})
    return Map(target=target, around=bool(around))


def explore(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    radius = float(match["radius"]) if match["radius"] else None
    if text is None or re.fullmatch(
        r"(?:the |this |your |my |our )?(?:current |unknown |nearby |immediate )?(?:area|"
        r"surroundings?|region|place|here|scene|environment|location|space|world|building|"
        r"terrain|neighbou?rhood)(?: around (?:you|here|us|me))?|around(?: here| you)?|more",
        text,
    ):
        return Explore(radius=radius)
    text = re.sub(
        r"^(?:the )?(?:area|region|surroundings?|space|vicinity|zone)? ?(?:near|around|of|by|"
        r"next to|close to|beyond|behind|past|at|to|in|from) ",
        "",
        text,
    )
    target = read_target(text)
    return Explore(target=target, radius=radius) if target else None


def inspect(match: re.Match[str]) -> Intent | None:
    text, query = match["np"], (match["query"] or "").strip()
    query = re.sub(r"^(?:any |its |the |signs? of |a )+", "", query)
    if re.match(r"(?:if|whether|that|for|what|where|how)\b", text):
        return None
    target = read_target(text)
    if target is None:
        return None
    return InspectIt(target=target, query=query)


def attribute(match: re.Match[str]) -> Intent | None:
    """ "what colour is the car": look at it and say."""
    target = read_target(match["np"])
    return InspectIt(target=target, query=match["query"].strip()) if target else None


def condition_of(match: re.Match[str]) -> Intent | None:
    target = read_target(match["np"])
    return InspectIt(target=target, query="condition") if target else None


def find(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    place = place_to(text)
    if place is not None:
        return place
    found = noun(text)
    if found is None:
        return None
    if found.target.words in ("place", "spot", "somewhere", "area"):
        return None
    if (afforded := _AFFORDED.get(knowledge().exact(found.target.words) or "")) is not None:
        return FindPlace(
            activity=afforded,
            conditions=tuple(c for c in found.target.conditions if c.property != "occupied"),
            near=found.target.near,
        )
    if found.plural and found.target.pick == "all":
        return ListThings(target=found.target)
    return Find(target=found.target)


_AFFORDED = {"parking space": "park", "seat": "sit", "work surface": "work"}
"""Things that are wanted for what one does there, whichever they are."""


def where(match: re.Match[str]) -> Intent | None:
    found = noun(match["np"])
    if found is None:
        return None
    return Find(target=found.target)


def lost(match: re.Match[str]) -> Intent | None:
    found = noun(
        re.sub(r",? ?\b(?:somewhere|maybe|probably|perhaps|possibly|i think),?(?= |$)", "", match["np"])
    )
    if found is None:
        return None
    # Where it was lost is where to look first, not where it has to be.
    near = found.target.near
    return Find(target=found.target.model_copy(update={"near": None}), clues=(near.words,) if near else ())


_PLACE_TO = re.compile(
    r"^(?:me |us |myself )?(?:a |an |the |any |some |another |one )*(?P<adj>(?:[\w-]+,? "
    rf"(?:and )?)*?)(?:{PLACE})(?P<near1> {AROUND} .+?)?"
    r"(?: (?:where|in which|at which|on which) (?:i|we|one|you|my \w+|a person|people|the "
    r"kids|kids|children)(?: \w+)? (?:can|could|may|might|am able to|are able to)| that "
    r"is (?:good|suitable|suited|right|nice|great|fit|ideal) for| (?:good|suitable|suited|"
    r"nice|right|great|ideal|fit|appropriate) (?:for|to)| to| for(?: me| us| my \w+| the "
    r"\w+| kids)*(?: to)?| i can| we can|(?= (?:under|in|out|with|near|by|next|close|"
    r"beside)\b)) ?(?P<verb>.+)$"
)


def place_to(text: str) -> Intent | None:
    """ "a shady place to read", "somewhere quiet to work", "a spot for parking my car"."""
    text = re.sub(
        r"^(somewhere|someplace|anywhere) (?P<adj>[\w-]+(?: and [\w-]+)?) (?=to |for |where )",
        r"\g<adj> \1 ",
        text,
    )
    match = _PLACE_TO.match(text)
    if match is None:
        return None
    verb, conditions = _conditions_out(match["verb"])
    said = activity(verb)
    if said is None:
        return None
    adjectives = re.sub(
        r"\b(?:good|nice|suitable|free space|comfortable and|best|nearest|closest|decent|"
        r"proper|safe place|better|perfect|lovely|great|possible|ideal)\b,? ?",
        "",
        match["adj"] or "",
    ).strip(" ,")
    while adjectives:
        stated = adjective_at(adjectives + " place")
        if stated is None:
            return None
        conditions.append(stated[0])
        adjectives = stated[1].removesuffix("place").strip()
    return _afford(said, conditions, match["near1"])


def _conditions_out(text: str) -> tuple[str, list[Condition]]:
    """A verb phrase without the conditions it states: "read in the shade" -> "read", shaded."""
    conditions = []
    for pattern, condition in SHADE:
        if re.search(pattern, text):
            conditions.append(condition)
            text = re.sub(pattern, "", text).strip()
    return text, conditions


def _afford(said: tuple[str, str], conditions: list[Condition], near: str | None = None) -> Intent | None:
    name, rest = said
    anchor = None
    match = re.search(
        r"(?:^| )(?:near|next to|beside|by|under|close to|in|at|inside|around) (?:the |a |my |"
        r"an )?(?P<np>[\w ]+)$",
        rest,
    )
    if match is not None and (concept := knowledge().exact(match["np"].strip())) is not None:
        anchor = Target(words=concept if concept == match["np"] else match["np"].strip())
    if near is not None and (found := read_target(re.sub(rf"^ ?{AROUND} ", "", near))) is not None:
        anchor = found
    return FindPlace(activity=name, conditions=tuple(dict.fromkeys(conditions)), near=anchor)


def do_activity(match: re.Match[str]) -> Intent | None:
    """ "I want to watch a movie", "where can I park my car"."""
    verb, conditions = _conditions_out(match["verb"])
    said = activity(verb)
    return _afford(said, conditions) if said else None


def want(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    place = place_to(text)
    if place is not None:
        return place
    if (needed := need(match.group())) is not None:
        return FindPlace(activity=needed)
    found = noun(text)
    if found is None or knowledge().concept(found.target.words) is None:
        return None
    return find(match)


def capacity(match: re.Match[str]) -> Intent | None:
    said = activity(match["verb"])
    if said is None:
        return None
    where = re.search(r"(?:^| )(?:in|at|on|near) (?P<np>(?:the |a )?[\w ]+)$", said[1])
    return Capacity(activity=said[0], near=read_target(where["np"]) if where else None)


def parking(match: re.Match[str]) -> Intent | None:
    where = match["np"] if "np" in match.re.groupindex else None
    return Capacity(activity="park", near=read_target(where) if where else None)


def passage(match: re.Match[str]) -> Intent | None:
    blocked = bool(re.fullmatch(BLOCKED_WORDS, match["state"]) or match["state"].startswith("not clear"))
    place, destination = match["way"], match["dest"]
    goal_ = read_target(destination) if destination else None
    if destination and goal_ is None:
        return None
    by = match["by"] if "by" in match.re.groupindex else None
    obstacle = None if by is None or re.search(r"thing|obstacle|obstruction", by) else read_target(by)
    if goal_ is not None:
        named = re.search(r"\d|_", place)
        return Passage(
            destination=goal_, place=read_target(place) if named else None, obstacle=obstacle, blocked=blocked
        )
    target = read_target(place)
    if target is None:
        return None
    concept = knowledge().concept(target.words)
    is_way = concept is not None and knowledge().concepts[concept].is_region
    if not is_way and concept is not None:
        return None
    return Passage(place=target, obstacle=obstacle, blocked=blocked)


def blocking(match: re.Match[str]) -> Intent | None:
    subject, place = match["what"].strip(), match["np"]
    dest = re.match(
        rf"(?:the |my |our )?{WAY} (?:to|towards|into|out of|from here to|leading to) "
        r"(?P<dest>.+)$",
        place,
    )
    target = None if dest else read_target(place)
    goal_ = read_target(dest["dest"]) if dest else None
    if target is None and goal_ is None:
        return None
    obstacle = (
        None
        if re.fullmatch(
            r"(?:there )?(?:anything|something|any (?:thing|object|objects|obstacle|obstacles|"
            r"obstruction)|an (?:obstacle|obstruction|object)|a blockage|obstacles|stuff|what)",
            subject,
        )
        else read_target(subject)
    )
    if obstacle is None and not re.search(r"thing|obst|object|stuff|blockage|what", subject):
        return None
    return Passage(place=target, destination=goal_, obstacle=obstacle, blocked=True)


def on_way(match: re.Match[str]) -> Intent | None:
    goal_ = read_target(match["dest"])
    obstacle = None if re.search(r"thing|obstacle|obstruction", match["what"]) else read_target(match["what"])
    return Passage(destination=goal_, obstacle=obstacle, blocked=True) if goal_ else None


def reach(match: re.Match[str]) -> Intent | None:
    target = read_target(match["np"])
    return Reach(target=target) if target else None


def around(match: re.Match[str]) -> Intent | None:
    if re.fullmatch(r"(?:me|you|us|here|there|this|it)", match["np"]):
        return ListThings()
    target = read_target(match["np"])
    return Around(target=target) if target else None


def hazards(match: re.Match[str]) -> Intent | None:
    where = match["np"] if "np" in match.re.groupindex else None
    if where:
        where = re.sub(
            r"^(?:for|to) (?:kids|children|people|visitors|us|me|a child|them|humans|everyone)(?: "
            r"(?:in|at|around|near))? ?",
            "",
            where,
        )
    target = read_target(where) if where else None
    if target is not None and (knowledge().concept(target.words) or "") in _PEOPLE:
        target = target.near
    return Hazards(where=target)


_PEOPLE = ("person", "child", "visitor", "student", "worker", "pedestrian", "group of people")


def safe(match: re.Match[str]) -> Intent | None:
    found = noun(match["np"])
    if found is None:
        return None
    concept = knowledge().concept(found.target.words)
    if concept is None or not knowledge().concepts[concept].is_region:
        return None
    return Hazards(where=found.target)


def exists(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    place = place_to(text)
    if place is not None:
        return place
    words = text.split()
    if (
        len(words) > 1
        and (stated := conditions_in(words[-1])) is not None
        and (thing := noun(" ".join(words[:-1]))) is not None
    ):
        return Exists(
            target=thing.target.model_copy(update={"conditions": (*thing.target.conditions, *stated)})
        )
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


def ask(match: re.Match[str]) -> Intent | None:
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


def done_to(match: re.Match[str]) -> Intent | None:
    """ "has rain damaged any roofs", "did the storm break the window": what happened to something."""
    found = noun(match["np"])
    conditions = conditions_in(
        re.sub(
            r"^(?:break|breaks|broke)$", "broken", re.sub(r"^(?:damage|damages)$", "damaged", match["state"])
        )
    )
    if found is None or conditions is None or len(conditions) > 1:
        return None
    return _ask_about(found, conditions[0], bool(re.match(r"(?:any|some)\b", match["np"])))


def damage_to(match: re.Match[str]) -> Intent | None:
    found = noun(match["np"])
    if found is None:
        return None
    return _ask_about(
        found, Condition(property="damaged"), bool(re.match(r"(?:any|some)\b", match["np"])) or found.plural
    )


def on_it(match: re.Match[str]) -> Intent | None:
    """ "is someone sitting on the bench", "is anyone using the printer": whether it is occupied."""
    found = noun(match["np"])
    return _ask_about(found, Condition(property="occupied"), False) if found else None


def count(match: re.Match[str]) -> Intent | None:
    found = noun(match["np"])
    if found is None:
        return None
    where = found.target.near
    return ListThings(target=found.target.model_copy(update={"near": None}), where=where, count=True)


def list_things(match: re.Match[str]) -> Intent | None:
    text = match["np"]
    if re.fullmatch(
        r"(?:everything|(?:all )?(?:the )?(?:objects|things|items|stuff))(?: (?:you (?:can "
        r")?see|around(?: you| here)?|nearby|here))?",
        text,
    ):
        return ListThings()
    everything = re.fullmatch(
        r"(?:everything|(?:all )?(?:the )?(?:objects|things|items)) (?:in|at|on|near|around) "
        r"(?P<where>.+)",
        text,
    )
    if everything is not None:
        where = read_target(everything["where"])
        return ListThings(where=where) if where else None
    found = noun(text)
    if found is None:
        return None
    where = found.target.near
    return ListThings(target=found.target.model_copy(update={"near": None, "pick": "any"}), where=where)


def see(match: re.Match[str]) -> Intent | None:
    where = match["np"]
    if where is None:
        return ListThings()
    target = read_target(where)
    return ListThings(where=target) if target else None


def land(_: re.Match[str]) -> Intent | None:
    return Home(land=True)


def everything(_: re.Match[str]) -> Intent | None:
    return ListThings()


def safe_to_land(_: re.Match[str]) -> Intent | None:
    return Passage(place=Target(words="landing strip", also=("landing pad", "helipad")))
