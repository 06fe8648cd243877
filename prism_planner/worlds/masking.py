"""Random extra hiding of what a robot knows at the start (PRISM paper, section 3.2)."""

from __future__ import annotations

import math
import random

import networkx as nx

from prism_planner.skills.monitor import MAX_EXPLORE_RADIUS_M
from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.spine_scenario import SpineWorld, discoverable


def masked_nodes(
    world: SpineWorld, mask: Mask, rng: random.Random, *, radius: float = MAX_EXPLORE_RADIUS_M
) -> set[str]:
    """The names to hide on top of what the world hides itself.

    About `mask.regions` of the regions and `mask.objects` of the objects known at the start, fewer
    where hiding more would spoil the world, which stays recoverable and usable:

    - the robot's own region is never hidden;
    - what can be reached at the start, and is not hidden, can still be reached at the start;
    - everything that could be found without the mask can still be found with it, by exploring
      with `radius` (metres);
    - an object that only hidden regions see is hidden with them.
    """
    regions = _mask_regions(world, mask.regions, rng, radius)
    unseen = regions | {region.name for region in world.regions if region.hidden}
    known = [thing for thing in world.objects if not thing.hidden]
    objects = {o.name for o in known if regions & set(o.seen_from) and set(o.seen_from) <= unseen}

    _, findable = discoverable(
        world, hidden_regions=unseen, hidden_objects={o.name for o in world.objects}, radius=radius
    )
    candidates = [o.name for o in known if o.name in findable and o.name not in objects]
    rng.shuffle(candidates)
    more = round(mask.objects * len(known)) - len(objects)
    return regions | objects | set(candidates[: max(0, more)])


def _mask_regions(world: SpineWorld, fraction: float, rng: random.Random, radius: float) -> set[str]:
    """Regions to hide: tried in random order, again as long as one more can be hidden, since hiding a
    region at the edge of what is known makes its neighbour the new edge.

    Each is hidden only where a region that is still known lies within exploration range, and the
    known rest stays connected. So in the reverse order of hiding all are found and reached again.
    """
    known = {r.name: r.at for r in world.regions if not r.hidden}
    wanted = round(fraction * len(known))
    paths: nx.Graph[str] = nx.Graph(edge for edge in world.edges if set(edge) <= known.keys())
    paths.add_node(world.robot)
    visible: set[str] = set(nx.node_connected_component(paths, world.robot))
    candidates = [name for name in known if name in visible and name != world.robot]
    rng.shuffle(candidates)

    hidden: set[str] = set()
    progress = True
    while progress and len(hidden) < wanted:
        progress = False
        for name in candidates:
            if name in hidden or len(hidden) == wanted:
                continue
            rest = visible - {name}
            in_range = any(math.dist(known[name], known[r]) <= radius for r in rest)
            if in_range and nx.is_connected(paths.subgraph(rest)):
                hidden.add(name)
                visible = rest
                progress = True
    return hidden
