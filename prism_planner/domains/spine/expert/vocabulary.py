"""Alternatives of English words and phrases, as parts of regular expressions."""

from __future__ import annotations

import re

GO = (
    r"(?:go|goto|go over|go back|head|head over|drive|drive over|fly|fly over|move|move "
    r"over|navigate|travel|proceed|walk|get(?= to| over| near| into| back| close)|return|"
    r"come|come back|relocate|make your way|find your way|take me|bring me|"
    r"lead me|guide me|visit|reach|approach|get close|take us|guide us|lead us|roll|"
    r"advance|run|be|position yourself|park yourself|hover|stop)"
    r"(?: (?:to|towards?|over to|back to|up to|down to|at|into|over|near|on|by|next to|"
    r"out to|all the way to|close to|onto|beside|in front of))?"
)
MAP = (
    r"(?:map|map out|map the objects (?:at|in|on|near|around)|make a map of|create a map "
    r"of|build a map of|generate a map of|map (?:everything|all objects) (?:at|in|on|near|"
    r"around)|scan|survey|"
    r"(?:look|search) for objects (?:at|in|on|near|around)|produce a map of|do a survey "
    r"of|record (?:all )?(?:the )?objects (?:at|in|on|near|around)|chart|perform mapping "
    r"(?:at|of|in|around)|do mapping (?:at|of|in|around))"
)
EXPLORE = (
    r"(?:explore|scout|reconnoit(?:er|re)|go exploring|discover|explore around|do an "
    r"exploration of|look around|scout out|roam|patrol|wander around)"
)
INSPECT = (
    r"(?:inspect|examine|take a (?:closer |close |good |quick )?look at|have a (?:closer |"
    r"close |good |quick )?look at|look (?:closely )?at|check out|check on|check up on|"
    r"check|observe|look over|scrutini[sz]e|study|investigate|view|assess|"
    r"look closer at|get a (?:closer |good )?look at|do an inspection of|perform an "
    r"inspection (?:of|on)|carry out an inspection of|analy[sz]e|evaluate|describe|"
    r"photograph|take a (?:picture|photo) of|monitor|watch over|verify)"
)
FIND = (
    r"(?:find|locate|look for|search for|look around for|track down|seek|seek out|hunt "
    r"for|spot|get|fetch|retrieve|detect|identify|discover|find me|find us|get me|point "
    r"me to|direct me to|show me|bring me to|"
    r"find out where (?:is|are)|recover|look everywhere for|be on the lookout for)"
)
WANT = (
    r"(?:(?:i|we) (?:really |just |kind of |would |badly |urgently |also |currently |"
    r"desperately )*(?:want|need|like|love|wish|have|am looking|are looking|plan|intend|"
    r"hope|am trying|am going|are going|got|am about|am supposed|feel like|prefer|must|"
    r"should|will)"
    r"(?: (?:really|also|badly))?(?: (?:to|for|you to find|to find))?)"
)
PLACE = (
    r"(?:place|spot|area|location|space|somewhere|someplace|room|site|seat|anywhere|"
    r"region|zone|surface|corner|bit of space|places|spots|position|point|building|"
    r"environment|setting)"
)
BE = r"(?:is|are|was|were|has|have)"
AROUND = (
    r"(?:near|around|next to|beside|close to|by|nearby|in the vicinity of|surrounding|"
    r"adjacent to|in front of|behind|at|in|on|under|in the area of|alongside|within reach "
    r"of|within sight of|with)"
)
SCENE = (
    r"(?:scene|area|map|environment|world|site|place|building|campus|region|space|park|"
    r"field|floor|property|facility|room|complex|grounds|estate|village|terrain|graph|"
    r"facility|neighbou?rhood|town)"
)
WAY = (
    r"(?:path|way|route|road|passage|walkway|access|corridor|hallway|trail|passageway|"
    r"street|sidewalk|track|walk|aisle)"
)
BLOCKED_WORDS = (
    r"(?:blocked|obstructed|closed(?: off)?|impassable|barricaded|cut off|cordoned off|sealed off)"
)
CLEAR_WORDS = (
    r"(?:clear|open|free|passable|unobstructed|accessible|unblocked|safe(?: to (?:use|take|"
    r"pass|walk|drive))?|navigable|traversable|drivable|walkable|usable|not blocked|okay|ok|"
    r"empty|clear of (?:obstacles|obstructions|debris)|free of (?:obstacles|obstructions|"
    r"debris)|safe to travel)"
)

VERB = re.compile(rf"(?:{MAP}|{EXPLORE}|{INSPECT}|{GO}|{FIND})(?= )")

DIRECTION = (
    r"(?P<direction>(?:north|south)[ -]?(?:east|west)(?:ern)?(?:most)?|(?:north|south|east|"
    r"west)(?:ern)?(?:most)?|cent(?:er|re)|central|middle)"
)
