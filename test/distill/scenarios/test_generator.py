"""Generated scenarios: they load, are plausible, reproducible, and as large and as varied as asked for."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_distill.scenarios import Stream, generate, generate_many, write_scenarios
from prism_distill.scenarios.generator import MAX_NODES, MIN_NODES, intents, to_yaml
from prism_distill.scenarios.lexicon import categories, region_kinds, themes, traits
from prism_distill.scenarios.phrasing import phrasings
from prism_planner.domains.spine.expert.intent import INTENT
from prism_planner.worlds.scenario import load_scenario
from prism_planner.worlds.spine_scenario import SpineScenario

LONGEST_HOP_M = {"ugv": 25.0, "uav": 70.0}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**63), st.sampled_from(["train", "validation", "test"]))
def test_every_scenario_loads_after_it_was_written(tmp_path_factory, seed, split):
    scenario = generate(seed, split=split)
    path = tmp_path_factory.mktemp("scenario") / "scenario.yaml"
    path.write_text(to_yaml(scenario), encoding="utf-8")
    assert load_scenario(path) == scenario


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**63), st.integers(MIN_NODES, MAX_NODES))
def test_size_is_the_number_of_nodes(seed, size):
    assert len(generate(seed, size=size).world.nodes) <= size
    # Small regions hold only so much, but a world is never much smaller than asked for.
    assert len(generate(seed, size=size).world.nodes) >= 0.8 * size


@pytest.mark.parametrize("theme", sorted(themes()))
def test_every_theme_makes_scenarios_for_its_platform(theme):
    scenario = generate(3, theme=theme)
    assert scenario.tasks
    assert scenario.description.startswith(themes()[theme].about)
    assert (scenario.platform == "uav") == (themes()[theme].setting == "aerial")


@pytest.mark.parametrize("platform", ["ugv", "uav"])
def test_a_platform_can_be_asked_for(platform):
    assert {generate(seed, platform=platform).platform for seed in range(20)} == {platform}


def test_sizes_cover_the_whole_range(train):
    sizes = [len(scenario.world.nodes) for scenario in train]
    assert min(sizes) <= 8 and max(sizes) >= 45
    assert 10 <= sorted(sizes)[len(sizes) // 2] <= 25


def test_the_same_seed_gives_the_same_scenario():
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)
    assert generate(7).world != generate(7, split="test").world


def test_scenarios_do_not_depend_on_the_process_or_on_each_other():
    code = (
        "from prism_distill.scenarios import Stream; from prism_distill.scenarios.generator import to_yaml;"
        "print(''.join(to_yaml(Stream(4)[i]) for i in (9, 2, 30)))"
    )
    here = "".join(to_yaml(Stream(4)[i]) for i in (9, 2, 30))
    for hash_seed in ("1", "2"):
        there = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert there.stdout.strip() == here.strip()


def test_a_stream_is_lazy_and_can_be_entered_anywhere():
    whole = list(generate_many(6, seed=2))
    assert list(generate_many(2, seed=2, start=4)) == whole[4:]
    assert next(generate_many(10**9, seed=2)) == whole[0]
    assert len({scenario.name for scenario in whole}) == 6


def test_files_are_written_and_kept(tmp_path):
    paths = write_scenarios(tmp_path / "new", 3, seed=5)
    assert [load_scenario(path) for path in paths] == list(generate_many(3, seed=5))
    before = paths[0].stat().st_mtime_ns
    assert write_scenarios(tmp_path / "new", 4, seed=5)[:3] == paths
    assert paths[0].stat().st_mtime_ns == before
    assert sorted(p.suffix for p in (tmp_path / "new").iterdir()) == [".yaml"] * 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"theme": "moon base"}, "unknown theme 'moon base'; known themes: airfield"),
        ({"size": 4}, "5 to 60, not 4"),
        ({"size": 61}, "5 to 60, not 61"),
        ({"platform": "usv"}, "unknown platform 'usv'; known platforms: ugv, uav"),
        ({"split": "dev"}, "unknown split 'dev'; known splits: train, validation, test"),
        ({"theme": "office", "platform": "uav"}, "theme 'office' is for ugv, not uav"),
    ],
)
def test_what_cannot_be_generated_is_said_clearly(options, message):
    with pytest.raises(ValueError, match=message):
        generate(0, **options)


# Worlds


def test_worlds_are_connected_save_what_is_cut_off_on_purpose(train):
    for scenario in train:
        reached = _reached(scenario)
        rest = {region.name for region in scenario.world.regions} - reached
        assert len(rest) <= 1
        joined = {end for edge in scenario.world.edges for end in edge}
        assert not rest & joined


def test_hops_are_short_enough_to_explore(train):
    for scenario in train:
        at = {region.name: region.at for region in scenario.world.regions}
        for a, b in scenario.world.edges:
            assert math.dist(at[a], at[b]) < LONGEST_HOP_M[scenario.platform]


def test_no_two_paths_cross(train):
    for scenario in train:
        at = {region.name: region.at for region in scenario.world.regions}
        for (a, b), (c, d) in combinations(scenario.world.edges, 2):
            if len({a, b, c, d}) == 4:
                assert not _cross(at[a], at[b], at[c], at[d])


def test_objects_stand_in_the_region_they_are_seen_from(train):
    for scenario in train:
        at = {region.name: region.at for region in scenario.world.regions}
        for thing in scenario.world.objects:
            nearest = min(at, key=lambda region: math.dist(at[region], thing.at))
            assert thing.seen_from == (nearest,) or math.dist(at[thing.seen_from[0]], thing.at) < 5.5


def test_some_regions_and_objects_are_hidden_and_some_worlds_are_known(train):
    hidden = [sum(region.hidden for region in scenario.world.regions) for scenario in train]
    assert 0.1 < hidden.count(0) / len(hidden) < 0.5
    assert any(count >= 4 for count in hidden)
    objects = [thing for scenario in train for thing in scenario.world.objects]
    assert 0.3 < sum(thing.hidden for thing in objects) / len(objects) < 0.85


# Coverage


def test_the_words_are_wide():
    assert len(region_kinds()) >= 60
    assert len(categories()) >= 250
    assert sum(len(c.synonyms) + len(c.kinds) for c in categories().values()) >= 150
    assert all(c.traits for c in categories().values())
    assert Counter(theme.setting for theme in themes().values()) >= Counter(indoor=10, outdoor=10, aerial=6)
    for trait in traits().values():
        assert len(trait.holds) >= 2 and (not trait.property or len(trait.lacks) >= 2)


def test_every_kind_of_object_and_region_is_used():
    placed = {name for kind in region_kinds().values() for name in kind.has}
    assert placed == set(categories())
    used = {name for theme in themes().values() for name in (*theme.regions, *theme.ways)}
    assert used == set(region_kinds())


def test_there_are_many_intents_each_with_many_phrasings():
    table = intents()
    assert len(table) >= 80
    scarce = {name: len(phrasings(group)) for name, group in table.items() if len(phrasings(group)) < 12}
    assert not scarce


def test_a_sample_shows_most_of_it():
    scenarios = list(generate_many(700, seed=1))
    words = {thing.category for s in scenarios for thing in s.world.objects}
    regions = {region.name.rsplit("_", 1)[0] for s in scenarios for region in s.world.regions}
    assert len(words) >= 350
    assert len(regions) >= 120
    kinds = Counter(task.intent["kind"] for s in scenarios for task in s.tasks)
    assert len(kinds) == 17 and min(kinds.values()) >= 10
    cells = Counter(task.cell for s in scenarios for task in s.tasks)
    assert len(cells) == 4 and min(cells.values()) >= 0.12 * cells.total()
    says = Counter(c.answer_says for s in scenarios for t in s.tasks for c in t.success if c.answer_says)
    assert 0.35 < says["yes"] / says.total() < 0.65


def test_sentences_read_well(train):
    for scenario in train:
        for task in scenario.tasks:
            said = task.instruction
            assert not set("{}[]|~") & set(said), said
            assert "  " not in said and ".." not in said and "?." not in said
            assert said == said.strip() and 3 <= len(said) <= 160


def test_intents_are_those_of_the_expert(train):
    for scenario in train:
        for task in scenario.tasks:
            INTENT.validate_python(task.intent)


def _reached(scenario: SpineScenario) -> set[str]:
    around: dict[str, list[str]] = {}
    for a, b in scenario.world.edges:
        around.setdefault(a, []).append(b)
        around.setdefault(b, []).append(a)
    found, frontier = {scenario.world.robot}, [scenario.world.robot]
    while frontier:
        for other in around.get(frontier.pop(), ()):
            if other not in found:
                found.add(other)
                frontier.append(other)
    return found


def _cross(a, b, c, d) -> bool:
    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
