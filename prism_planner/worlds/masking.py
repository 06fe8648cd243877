"""Random extra hiding of what a robot knows at the start (PRISM paper, section 3.2)."""

from __future__ import annotations

import random

import networkx as nx

from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.spine_scenario import SpineWorld, discoverable


def masked_nodes(world: SpineWorld, mask: Mask, rng: random.Random) -> set[str]:
    """The names to hide on top of what the world hides itself.

    About `mask.regions` of the regions and `mask.objects` of the objects known at the start, fewer
    where hiding more would spoil the world, which stays recoverable and usable:

    - the robot's own region is never hidden;
    - what can be reached at the start, and is not hidden, can still be reached at the start;
    - everything that could be found without the mask can still be found with it, by exploring;
    - an object that only hidden regions see is hidden with them.
    """
    scenario_regions = {r.name for r in world.regions if r.hidden}
    scenario_objects = {o.name for o in world.objects if o.hidden}
    hidden_regions = _mask_regions(world, mask.regions, scenario_regions, scenario_objects, rng)

    unseen = scenario_regions | hidden_regions
    hidden = {
        o.name for o in world.objects if set(o.seen_from) & hidden_regions and set(o.seen_from) <= unseen
    } - scenario_objects
    _, findable = discoverable(world, hidden_regions=unseen, hidden_objects={o.name for o in world.objects})
    known = [o.name for o in world.objects if o.name not in scenario_objects]
    wanted = round(mask.objects * len(known))
    candidates = [name for name in known if name not in hidden and name in findable]
    rng.shuffle(candidates)
    hidden |= set(candidates[: max(0, wanted - len(hidden))])
    return hidden_regions | hidden


def _mask_regions(
    world: SpineWorld, fraction: float, regions: set[str], objects: set[str], rng: random.Random
) -> set[str]:
    """Regions to hide: tried in random order, again as long as one more can be hidden, since hiding a
    region at the edge of what is known makes its neighbour the new edge."""
    known = [r.name for r in world.regions if r.name not in regions]
    wanted = round(fraction * len(known))
    findable, _ = discoverable(world, hidden_regions=regions, hidden_objects=objects)
    paths: nx.Graph[str] = nx.Graph(e for e in world.edges if not set(e) & regions)
    paths.add_node(world.robot)
    at_start = nx.node_connected_component(paths, world.robot)
    candidates = [name for name in known if name in at_start and name != world.robot]
    rng.shuffle(candidates)

    hidden: set[str] = set()
    progress = True
    while progress and len(hidden) < wanted:
        progress = False
        for name in candidates:
            if name in hidden or len(hidden) == wanted:
                continue
            visible = paths.subgraph(at_start - hidden - {name})
            if not nx.is_connected(visible):
                continue
            again, _ = discoverable(world, hidden_regions=regions | hidden | {name}, hidden_objects=objects)
            if findable <= again:
                hidden.add(name)
                progress = True
    return hidden
