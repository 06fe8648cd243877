"""Reading one clause: the first pattern that fits, and whose parts can be read, decides what it means."""

from __future__ import annotations

import re
from collections.abc import Callable

from prism_planner.domains.spine.expert import builders
from prism_planner.domains.spine.expert.intent import (
    Ask,
    Condition,
    Exists,
    Home,
    Intent,
    Passage,
    Target,
)
from prism_planner.domains.spine.expert.knowledge import knowledge
from prism_planner.domains.spine.expert.phrases import (
    bare_end,
    trimmed,
)
from prism_planner.domains.spine.expert.vocabulary import (
    AROUND,
    BE,
    BLOCKED_WORDS,
    CLEAR_WORDS,
    DIRECTION,
    EXPLORE,
    FIND,
    GO,
    INSPECT,
    MAP,
    SCENE,
    WANT,
    WAY,
)

_Builder = Callable[[re.Match[str]], Intent | None]


def read_clause(clause: str) -> Intent | None:
    clause = trimmed(clause)
    for text in dict.fromkeys((clause, bare_end(clause))):
        for pattern, build in _PATTERNS:
            match = pattern.fullmatch(text)
            if match is not None and (intent := build(match)) is not None:
                return intent
    return None


def _compile(table: list[tuple[str, _Builder]]) -> list[tuple[re.Pattern[str], _Builder]]:
    return [(re.compile(pattern), build) for pattern, build in table]


_PATTERNS = _compile(
    [
        # Home
        (
            rf"(?:{GO}|return|head|fly|drive|come|go) ?(?:back )?(?:to )?(?:where (?:you|we|i) "
            r"(?:started|began|came from|were|took off)(?: from)?|(?:the |your |our "
            r")?(?:start(?:ing)?(?: (?:point|position|location|place|region|area))?|"
            r"initial (?:position|location|point|region)|origin(?:al (?:position|location|place|"
            r"point))?|base|home(?: base| position| location)?|place (?:you|where you) started(?: "
            r"from)?|beginning|first (?:location|position)|take ?off (?:point|location)))",
            builders.home,
        ),
        (
            r"(?:return|go|come|head|fly|drive|get)(?: back)?(?: home| to base| to the start| "
            r"back| to start)?",
            lambda m: Home() if re.search(r"home|back|base|start|return", m.group()) else None,
        ),
        (
            r"(?:return|come back|go back|fly back|head back|fly home|go home|return home|come|go|"
            r"prepare|get ready|it is time|time)(?: (?:home|back|to base))?,? (?:to|and|for|in "
            r"order to) (?:land|landing|touch down)(?: (?:safely|the drone|now|yourself|there))?",
            builders.land,
        ),
        (
            r"(?:land|touch down|perform a landing|do a landing|end the flight|abort and land|"
            r"abort the mission and land|finish the flight|land (?:the drone|now|safely|yourself|"
            r"immediately)|return to launch|rtl|return to (?:the )?(?:landing|land)(?: (?:site|"
            r"zone|area))?)",
            builders.land,
        ),
        # Parts of the scene
        (
            rf"(?:{GO}|{EXPLORE}|check|find) (?:the )?{DIRECTION}(?: ?-?(?:part|side|end|edge|"
            r"portion|half|corner|area|section|region|most part|most point|point|most region|"
            r"extreme|boundary))?(?: (?:of|in|on) (?:the |this |our )?(?:whole |known |entire "
            rf")?{SCENE})?",
            builders.part,
        ),
        (rf"(?:{GO}) (?:as )?(?:far )(?:to the )?{DIRECTION}(?: as (?:possible|you can))?", builders.part),
        (
            rf"(?:{GO}) (?:the )?(?:part|side|end|edge|corner|area|region|section) (?:of (?:the "
            rf")?{SCENE} )?(?:that is |which is )?(?:(?:farthest|furthest|most|far) )?(?:to |in |"
            rf"towards? )?(?:the )?{DIRECTION}",
            builders.part,
        ),
        # Hazards
        (
            r"(?:whether |is |are |was )?(?:there )?(?:is |are )?(?:there )?(?:any ?thing|"
            r"something|any|some|things?)(?: (?:here|around here|around|nearby|there))*(?: "
            r"(?:potentially|that is|that could be|which is|that are|that might be|objects|things|"
            r"object|items|item|obviously))* ?(?:dangerous|hazardous|unsafe|harmful|risky|a "
            r"danger|a hazard|risk|danger|hazards?|dangers|risks|safety (?:hazards?|risks?|"
            r"issues?|concerns?)|that could (?:hurt|harm|injure) (?:\w+ ?)+|that is not safe|that "
            r"kids should not touch)(?: (?:objects?|things?|items?|materials?|equipment))?(?: "
            r"(?:around(?: here)?|there|here|nearby))?(?: (?:in|at|on|near|around|inside|for|to) "
            r"(?P<np>.+))?",
            builders.hazards,
        ),
        (
            r"(?:what|which)(?: (?:things|objects|items|equipment))? (?:here |there |around here "
            r")?(?:is|are|could be|might be|may be) (?:dangerous|hazardous|unsafe|a hazard|"
            r"hazards|risky|harmful|a danger)(?: (?:for|to) (?:\w+))?(?: (?:in|at|on|near|around|"
            r"inside) (?P<np>.+))?",
            builders.hazards,
        ),
        (
            r"(?:find|locate|identify|list|report|look for|search for|point out|check for|scan "
            r"for|detect|look out for|inspect for|watch for|warn me (?:about|of)|what are)(?: "
            r"me)? (?:any |all |the |all the |potential |possible |some )*(?:hazards?|dangers?|"
            r"dangerous (?:things|objects|items|stuff|equipment|areas)|hazardous (?:things|"
            r"objects|items|materials)|safety (?:hazards?|risks?|issues?|problems?)|risks?|"
            r"threats?|anything (?:dangerous|hazardous|unsafe)|unsafe (?:things|objects|items|"
            r"conditions))(?: (?:in|at|on|near|around|inside) (?P<np>.+))?",
            builders.hazards,
        ),
        (
            r"(?:whether |is )?(?P<np>(?:the|this|that|my|our) [\w ]+?|it)(?: is)? (?:a )?(?:safe|"
            r"dangerous|hazardous|unsafe|risky)(?: place| area)?(?: (?:for|to) (?:kids|children|"
            r"visitors|people|me|us|my \w+|a child|enter|visit|walk|play|work|the public|toddlers|"
            r"my children|my kids)(?: (?:in|there|to (?:visit|enter|play)))?)?",
            builders.safe,
        ),
        # Passage
        (
            r"(?:whether |is |are )?(?:there )?(?P<what>[\w ]+?)(?: is| are| be)? (?:blocking|"
            r"obstructing|in|impeding|closing|closing off|lying across|standing in|covering) "
            r"(?:the way (?:on|of|in|along) )?(?P<np>(?:the |my |our |this |that |a |any )?[\w "
            r"]+?)",
            lambda m: (
                builders.blocking(m)
                if not re.search(r" in$", m.group()[: m.start("np") - m.start()].rstrip())
                else None
            ),
        ),
        (
            r"(?:what|which (?:object|thing)) (?:is|are) (?:blocking|obstructing) "
            r"(?P<np>.+)(?P<what>)",
            lambda m: (
                Passage(place=builders.read_target(m["np"]), blocked=True)
                if builders.read_target(m["np"])
                else None
            ),
        ),
        (
            r"(?:does|do|did|has|have) (?P<what>[\w ]+?) (?:block|obstruct|blocked|obstructed|cut "
            r"off|closed|close off) (?P<np>.+)",
            builders.blocking,
        ),
        (
            r"(?:whether |is |are |has )?(?:there )?(?P<what>any ?thing|something|an obstacle|any "
            r"obstacles?|an obstruction|any obstructions?|debris|any debris|construction|any "
            r"construction|obstacles) (?:on|along|in|blocking|across|obstructing) (?:the |my |our "
            rf")?{WAY} (?:to|towards|into) (?P<dest>.+)",
            builders.on_way,
        ),
        (
            r"(?:whether |is |are )?(?P<way>(?:the |my |our |this |that |any )?(?:[\w-]+ "
            rf")*?{WAY}s?(?:[ _]?\d+)?)(?: (?:that leads |leading |going )?(?:to|towards|into|out "
            r"to|from here to|between here and|out of|up to|toward) (?P<dest>.+?))?(?: is| are| "
            rf"still| currently| being| completely| now| all)* (?P<state>{CLEAR_WORDS}|"
            rf"{BLOCKED_WORDS}|not clear)(?: (?:of|from) (?:any )?(?:obstacles|obstructions|"
            r"debris|traffic|objects|anything|construction))?(?: by (?P<by>[\w ]+?))?(?: for "
            r"(?:me|us|walking|driving|the robot|vehicles|cars|a \w+|traffic|pedestrians))?(?: to "
            r"(?:pass|walk|drive|use|go|drive on|walk on))?",
            builders.passage,
        ),
        (
            rf"(?:is|are) (?:there )?(?:a |any )?(?P<state>{CLEAR_WORDS}) (?P<way>{WAY}) (?:to|"
            r"towards|into|out to) (?P<dest>.+)",
            builders.passage,
        ),
        (
            r"(?:whether )?(?P<way>(?:the |my |our )[\w ]+?) (?:is|are) "
            rf"(?P<state>{BLOCKED_WORDS}|{CLEAR_WORDS})(?P<dest>)",
            builders.passage,
        ),
        (
            r"(?:can|could|will|may|do|does) (?:i|we|you|one|people|someone|a person|cars|a car|"
            r"the robot|my \w+|pedestrians|vehicles|traffic) (?:pass|walk|drive|go|use|take|"
            r"travel|get|cross|proceed|bike|ride)(?: safely)?(?: (?:through|along|on|down|over|"
            rf"via|across|past|by))? (?P<np>(?:the |this |that )?(?:[\w-]+ )*?(?:{WAY})(?:[ "
            r"_]?\d+)?)(?: safely| freely)?",
            lambda m: Passage(place=builders.read_target(m["np"])) if builders.read_target(m["np"]) else None,
        ),
        # Space
        (
            r"(?:whether |is |are )?(?:there )?(?:is |are )?(?:there )?(?:any |enough |some |"
            r"still |a |free |available |more |empty |open |sufficient )*(?:space|room|spot|spots|"
            r"spaces|place|capacity|places)(?: (?:left|available|free|remaining|anywhere|open|"
            r"nearby))* (?:to|for me to|for us to|where i can|for|in which to) (?P<verb>(?:park|"
            r"land|lock|store|leave|camp|parking|sit|work|play|swim).*)",
            builders.capacity,
        ),
        (
            r"(?:whether |is |are )?(?:there )?(?:is |are )?(?:there )?(?:any |enough |some |a |"
            r"free |available |empty |open |still )*(?:parking|parking (?:space|spot|place|bay)s?|"
            r"car park spaces?|spots?|spaces?|room|space)(?: (?:left|available|free|remaining|"
            r"open))?(?: for (?:my|a|the|our) (?:car|truck|van|vehicle|suv))?(?: (?:left|"
            r"available|free|remaining|open|nearby))?(?: (?:in|at|on|near) (?P<np>.+))?",
            lambda m: (
                builders.parking(m) if re.search(r"park|car|truck|van|vehicle|suv", m.group()) else None
            ),
        ),
        (
            r"(?:whether |is |are )?(?P<np>(?:the |any |a )?(?:parking lot|car park|lot|parking "
            r"area|parking|garage)(?:[ _]\d+)?)(?: is| are)? (?:full|at capacity|completely full|"
            r"packed)",
            lambda m: Ask(
                target=builders.read_target(m["np"]) or Target(words="parking lot"),
                condition=Condition(property="full"),
            ),
        ),
        (
            r"(?:is it|whether it is|would it be|can (?:i|we|you|the drone)|is there (?:a "
            r")?(?:safe )?(?:place|space|room)) (?:safe |possible |ok |okay )?(?:to )?(?:safely "
            r")?land(?: safely| here| there| now)?",
            builders.safe_to_land,
        ),
        # Reachability
        (
            r"(?:can|could|may|am|are|is|will) (?:i|we|you|the robot|one|someone|a person|my \w+|"
            r"it|anyone|people|it be possible|it possible)(?: (?:still|even|actually|safely|"
            r"easily|possibly|able|possible))*(?: to)? (?:get|reach|go|drive|walk|make it|travel|"
            r"access|navigate|enter|arrive|come|fly)(?: (?:over|through|all the way|across|from "
            r"here|back|safely))?(?: (?:to|at|into|inside))? (?P<np>.+?)(?: from here)?",
            builders.reach,
        ),
        (
            r"(?:whether )?(?:is|are)? ?(?P<np>.+?) (?:is |are )?(?:reachable|accessible|within "
            r"reach|connected|possible to reach|attainable|approachable)(?: from here| by (?:car|"
            r"foot|road))?",
            builders.reach,
        ),
        (
            r"(?:is|whether) (?:there )?(?:is )?(?:a |any |some )*(?:way|route|path|road|access|"
            r"connection) (?:to get to|to reach|to|into|leading to|going to|for me to (?:get to|"
            r"reach)|that leads to|which leads to) (?P<np>.+?)(?: from here)?",
            builders.reach,
        ),
        (
            r"(?:how (?:do|can|could|would|should) (?:i|we)) (?:get|go|reach|drive|walk)(?: (?:to|"
            r"into|over to))? (?P<np>.+?)(?: from here)?",
            builders.reach,
        ),
        # What is near
        (
            r"(?:whether )?(?:what|which (?:objects|things|items|regions))(?: (?:objects|things|"
            r"items|else|all|stuff))?(?: (?:is|are|do you see|can you see|do you find|can be "
            r"found|lies|stands|can i find|there is|there are))*(?: (?:located|found|seen|there|"
            rf"right|immediately|directly|situated|placed))* {AROUND} (?P<np>(?!around|here).+)",
            builders.around,
        ),
        (
            r"(?:what|which (?:objects|things)) (?:surrounds?|is surrounding|are surrounding|"
            r"neighbou?rs|borders) (?P<np>.+)",
            builders.around,
        ),
        (
            r"(?:describe|tell (?:me|us) about|report|list|show(?: me)?|name|inspect|look at|"
            r"examine|survey|check)(?: (?:on|what))? (?:everything|the (?:surroundings?|area|"
            r"neighbou?rhood|vicinity|objects|things|environment)|what(?: is)?|all objects|"
            r"objects|anything|things) (?:of|around|near|surrounding|next to|close to|by|beside|"
            r"nearby) (?P<np>.+)",
            builders.around,
        ),
        (
            r"(?:describe|tell me about) (?P<np>.+?)(?:'s| his| its) (?:surroundings|vicinity|"
            r"neighbou?rhood)",
            builders.around,
        ),
        # What is seen
        (
            r"(?:what|describe what|tell me what|report what|what objects|which objects|list what|"
            r"say what|what things) (?:do you|can you|you|do we|can be|is|are|did you|you can)(?: "
            r"(?:see|find|seen|observe|there|visible|found))+(?: (?:around|here|around you|nearby|"
            r"there))*(?: (?:in|at|on) (?P<np>.+))?",
            builders.see,
        ),
        (
            r"(?:describe|report on|summari[sz]e|give me (?:an overview|a description|a summary) "
            r"of) (?:the |this |your |our )?(?:scene|surroundings?|environment|area|situation|"
            r"place|location|world)(?P<np>)",
            builders.everything,
        ),
        (
            r"how many (?P<np>.+?)(?: (?:are|is|do you|can you|have|were) ?(?:there|see|you see|"
            r"here|around|we have|visible|found|you find)*)?(?: (?:around|here|there|in total|"
            r"nearby))*",
            builders.count,
        ),
        (
            r"(?:count|count up|count the number of|tell me the number of|what is the number of|"
            r"give me the number of) (?P<np>.+)",
            builders.count,
        ),
        (
            r"(?:list|enumerate|name|report|give me a list of|tell me about|make a list of|write "
            r"down|find|locate|identify|note) (?P<np>(?:all|every|everything|each|the objects|"
            r"objects)\b.*)",
            builders.list_things,
        ),
        (r"(?:list|enumerate|name|give me a list of|make a list of) (?P<np>.+)", builders.list_things),
        # Happened to, damage, use
        (
            r"(?:whether |has |have |did |does )?(?:the |a |any |some )?(?:heavy |recent |last |"
            r"strong )?(?:rain|storm|wind|hail|snow|weather|flood|flooding|fire|earthquake|"
            r"hurricane|tornado|construction|lightning|rainfall|thunderstorm|water|bad weather|"
            r"accident|someone|somebody|anyone|something)(?: has| have)? (?P<state>damaged?|"
            r"destroyed|broken|break|broke|flooded|harmed|wrecked|ruined|hit|cracked|burned|burnt|"
            r"blocked|soaked|scratched|dented) (?P<np>.+)",
            builders.done_to,
        ),
        (
            r"(?:whether )?(?:is|are|was|were|has|have|do you see|can you see) ?(?:there "
            r")?(?:been )?(?:any |some |much |visible |signs of |storm |water |rain |evidence of "
            r")*damages? (?:to|on|at|of|in) (?P<np>.+)",
            builders.damage_to,
        ),
        (
            r"(?:check|inspect|look at|examine|survey|assess|look for|search for|find|look|"
            r"evaluate|verify)(?: (?P<np>.+?))?(?: for| for any| for signs of| for storm| for "
            r"water| for rain) (?:any |visible |signs of |storm |water |rain |possible )*damages?",
            lambda m: builders.damage_to(m) if m["np"] else None,
        ),
        (
            r"(?:look for|search for|find|report|assess|check for|check|evaluate|inspect|survey) "
            r"(?:any |the |visible |signs of |storm |water |rain |possible )*damages? (?:to|on|at|"
            r"of|in) (?P<np>.+)",
            builders.damage_to,
        ),
        (
            r"(?:do|does) (?P<np>.+?) (?:have|show|has) (?:any |some |signs of |visible "
            r")*(?:damages?|dents?|cracks?|leaks?|scratches|holes)",
            builders.damage_to,
        ),
        (
            r"(?:whether )?(?:is|are)? ?(?:there )?(?:anybody|anyone|someone|somebody|a person|"
            r"people|any people)(?: is| are)? (?:sitting |seated |sleeping |lying |standing |"
            r"working |using |sat )+(?:on|in|at|under|near)? ?(?P<np>.+)",
            builders.on_it,
        ),
        # Yes/no about a state
        (
            rf"(?:whether |{BE} |did |was |were )(?P<np>(?:the|my|our|any|all|some|those|these|"
            rf"this|that|both|a|an|each|every|one of)? ?[\w' -]+?) (?:{BE} |been |be |being |seem "
            r"|look |looks |seems )*(?P<state>(?:not )?[\w -]+)",
            builders.ask,
        ),
        (
            r"(?:does|do) (?P<np>.+?) (?:seem|look|appear|appear to be|seem to be|still) "
            r"(?P<state>(?:not )?[\w -]+)",
            builders.ask,
        ),
        (
            r"(?:does|do) (?P<np>(?:the|my|our|any|this|that|those) .+?) (?P<state>work|function|"
            r"operate|leak|run)",
            lambda m: (
                Ask(target=t, condition=Condition(property="damaged" if m["state"] == "leak" else "working"))
                if (t := builders.read_target(m["np"]))
                else None
            ),
        ),
        (
            r"(?:what is|what was|what are) (?:the )?(?:condition|state|status|shape|appearance) "
            r"(?:of|with) (?P<np>.+)",
            builders.condition_of,
        ),
        (
            r"(?:how is|how are|how does|how do|in what (?:condition|state|shape) (?:is|are)) "
            r"(?P<np>(?:the|my|our) .+?)(?: (?:look|doing|look like|looking))?",
            builders.condition_of,
        ),
        (
            r"(?:what|which) (?P<query>colou?r|size|material|type|kind|brand|model|shape|"
            r"condition|make|height|state|species|age|contents?|text|number) (?:is|are|does|do|"
            r"has|have) (?P<np>.+?)(?: have| made of| made from)?",
            builders.attribute,
        ),
        (
            r"what is (?:the )?(?P<query>colou?r|size|material|type|kind|brand|model|shape|make|"
            r"height|species|age|contents?|text|number|owner|temperature|label) of (?P<np>.+)",
            builders.attribute,
        ),
        (r"(?:what|who) (?P<query>is (?:on|in|written on|inside)) (?P<np>(?:the|my) .+)", builders.attribute),
        # Activities and places
        (
            r"where (?:can|could|may|might|should|do|would|shall) (?:i|we|one|my \w+|the kids|"
            r"kids|people|someone|you)(?: (?:go|possibly|best|safely|legally|find a place|get "
            r"some space|find somewhere|go in order|best))*(?: to)? (?P<verb>.+)",
            builders.do_activity,
        ),
        (
            r"where (?:can|could|do|would|might|should) (?:i|we|one)(?: \w+)? (?:find|get|buy|see|"
            r"locate) (?P<np>.+)",
            builders.find,
        ),
        (
            rf"(?:{FIND}|{GO}|suggest|recommend|choose|pick|select|offer|where is|is there|are "
            r"there|do you have|do you know of|know of|whether there is|search|look) (?P<np>.+)",
            lambda m: builders.place_to(m["np"]),
        ),
        (rf"{WANT} (?P<np>.+)", lambda m: builders.place_to(m["np"])),
        (rf"{WANT} (?P<verb>.+)", builders.do_activity),
        (
            r"(?:it is time to|time to|time for|let us|shall we|can (?:i|we)|could (?:i|we)|i can "
            r"not wait to|how about|i feel like|is it possible to|who wants to|i am ready to|i am "
            r"in the mood (?:to|for)|i am off to|i am here to|i came to|my plan is to|i am "
            r"planning to|i would rather|we came to) (?P<verb>.+?)(?: somewhere| anywhere| here| "
            r"around here| nearby)?",
            builders.do_activity,
        ),
        (
            r"(?:my (?:friends?|kids?|children|son|daughter|guests?|team|colleagues?|dog|"
            r"students?|parents?|family)(?: and i)?|the kids|the children|kids|she|he|they|"
            r"somebody|someone|a friend of mine|our guests?) (?:wants?|needs?|would like|likes?|"
            r"has|have|is looking for a place|are looking for a place|is going) (?:to|a place to|"
            r"somewhere to) (?P<verb>.+)",
            builders.do_activity,
        ),
        # Lost and found
        (
            r"(?:i|we) (?:seem to |think i |appear to |believe i )?(?:have |had |just |really |"
            r"accidentally |actually )*(?:lost|misplaced|forgot|left behind|dropped|am missing|"
            r"miss|am looking for|are looking for|can not find|am searching for|mislaid|forgot "
            r"where (?:i|we) (?:put|left|parked)|do not (?:know|remember) where (?:i|we) (?:put|"
            r"left|parked)|do not (?:know|remember) where|left|have no idea where) (?P<np>(?:my|"
            r"our|the|a) .+?)(?: (?:is|are|somewhere|went|again|is gone))*",
            builders.lost,
        ),
        (
            r"(?P<np>(?:my|our) [\w ]+?) (?:is|are|has|have|went|got|seems to be|ran) (?:been "
            r")?(?:lost|missing|gone|stolen|away|disappeared|vanished|misplaced|off|nowhere to be "
            r"found|run away|escaped|wandered off|gone missing)(?: away| again)?",
            builders.lost,
        ),
        (
            rf"{WANT} (?:help |assistance )?(?:to )?(?:find(?:ing)?|locat(?:e|ing)|look(?:ing)? "
            r"for|search(?:ing)? for|see(?:ing)?|get|retrieve|recover|have|track(?:ing)? down|"
            r"know where (?:is|are)?|for) ?(?P<np>.+?)(?: is| are)?",
            builders.find,
        ),
        (
            r"(?:do you know |tell me |show me |any idea |can you tell me )?where (?:is|are|did "
            r"(?:i|we) (?:leave|put|park|see|drop)|have i (?:left|put|parked)|might|could|would|"
            r"has|have) (?:i find )?(?P<np>.+?)(?: (?:be|located|gone|go|been|is|are|at|parked|"
            r"now))?",
            builders.where,
        ),
        (
            r"where (?P<np>(?:the|my|our|a) .+?) (?:is|are|was|might be|could be)(?: located| "
            r"parked)?",
            builders.where,
        ),
        (
            r"(?:have you seen|did you see|do you see|can you see|seen|has anyone seen|did anyone "
            r"see|did you find|can you find|have you found) (?P<np>.+?)(?: anywhere| somewhere)?",
            lambda m: (
                builders.find(m) if re.search(r"\bmy\b|\bour\b|\bthe\b", m["np"]) else builders.exists(m)
            ),
        ),
        # Existence
        (
            r"(?:whether |is |are |was |were )?there (?:is |are )?(?:still |currently |perhaps |"
            r"maybe )?(?P<np>.+)",
            builders.exists,
        ),
        (
            r"(?:does|do) (?:the |this )?(?:area|scene|place|building|environment|room|campus) "
            r"have (?P<np>.+)",
            builders.exists,
        ),
        (
            r"(?:whether |is |are )(?P<np>(?:a|an|any|some) [\w ]+?)(?: is| are)?(?: (?:around|"
            r"here|nearby|present|available|in sight|visible|there|anywhere))+",
            builders.exists,
        ),
        (
            r"(?:do|does|is|are|has|have) (?:you|we|anybody|anyone) (?:see|notice|have|detect|"
            r"spot|find) (?P<np>.+)",
            builders.exists,
        ),
        (
            r"(?:check|see|verify|determine) (?:for|whether there (?:is|are)|if there (?:is|are)) "
            r"(?P<np>.+)",
            builders.exists,
        ),
        (r"(?P<np>any (?!one|body|thing)[\w ]+)", builders.exists),
        (
            r"(?:check|inspect|look at|scan|survey|examine|search) (?P<place>(?:the|my|our) .+?) "
            r"for (?:any |some |signs of )?(?P<np>.+)",
            lambda m: (
                Exists(target=t.model_copy(update={"near": builders.read_target(m["place"])}))
                if (t := builders.read_target(m["np"]))
                and t.near is None
                and builders.read_target(m["place"])
                and (c := knowledge().concept(t.words))
                and knowledge().concepts[c].is_object
                else None
            ),
        ),
        # Imperatives
        (rf"(?:{MAP})(?: (?P<np>.+))?", builders.map_place),
        (
            rf"(?:{EXPLORE})(?: (?P<np>.+?))?(?: (?:within|with|in|for|using|to)(?: a)?(?: radius "
            r"of| range of)? (?P<radius>\d+(?:\.\d+)?) ?(?:m|meters?|metres?)(?: radius)?)?",
            builders.explore,
        ),
        (rf"(?:{INSPECT}) (?P<np>(?:if|whether) .+)(?P<query>)", lambda m: read_clause(m["np"])),
        (
            rf"(?:{INSPECT}) (?P<np>.+?)(?: (?:for|to see its|and report its|to find out its|to "
            r"determine its|to check its|looking for|and tell me its|and tell me about its|to "
            r"learn its) (?P<query>[\w ]+)| (?:closely|carefully|thoroughly|in detail|up close|"
            r"more closely))?(?P<q2>)",
            builders.inspect,
        ),
        (
            rf"(?:{GO}) (?:somewhere|a place|any place|a spot|someplace|anywhere) (?P<np>.+)",
            lambda m: builders.place_to(f"place {m['np']}"),
        ),
        (
            rf"(?:{GO}) (?:the )?(?:area|region|place|location|spot|surroundings|vicinity|"
            r"position) (?:near|around|by|next to|close to|of|where) (?P<np>.+)",
            builders.goto,
        ),
        (
            r"(?:show|tell|lead|guide|point)(?: me| us) the (?:way|route|path|direction|road) "
            r"(?:to|towards?|into|out to) (?P<np>.+)",
            builders.goto,
        ),
        (rf"(?:{GO}) (?P<np>.+)", builders.goto),
        (rf"(?:{FIND})(?: me| us)? (?P<np>.+)", builders.find),
        (rf"{WANT} (?P<np>.+)", builders.want),
        (r"(?:i|we) (?:am|are) (?:looking|searching|hunting) for (?P<np>.+)", builders.find),
    ]
)
