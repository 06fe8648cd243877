"""The knowledge is large enough, consistent, and finds what words mean."""

from __future__ import annotations

import re

import pytest

from prism_planner.domains.spine.expert.evidence import properties
from prism_planner.domains.spine.expert.knowledge import Concept, Knowledge, Roles, knowledge

KNOWN = knowledge()


def test_it_knows_hundreds_of_objects_and_dozens_of_regions() -> None:
    assert sum(c.is_object for c in KNOWN.concepts.values()) >= 250
    assert sum(c.is_region for c in KNOWN.concepts.values()) >= 60


def test_every_word_names_one_concept() -> None:
    for name, concept in KNOWN.concepts.items():
        for words in (name, *concept.synonyms):
            assert KNOWN.exact(words) == name, words


def test_a_word_for_two_concepts_is_an_error() -> None:
    concepts = {n: Concept(n, ("pointed thing",), is_object=True) for n in ("pin", "spike")}
    with pytest.raises(ValueError, match="pointed thing"):
        Knowledge(concepts, {}, Roles({}, (), (), (), (), (), {}, ()))


def test_all_references_exist() -> None:
    for concept in KNOWN.concepts.values():
        assert set(concept.kinds) <= KNOWN.concepts.keys(), concept.name
        assert set(concept.near) <= KNOWN.concepts.keys(), concept.name
        for region in concept.found:
            assert KNOWN.concepts[region].is_region, f"{concept.name} is found in {region}"


def test_every_activity_is_afforded_by_things_that_exist() -> None:
    for activity in KNOWN.activities.values():
        assert activity.verbs and activity.objects, activity.name
        for name in (*activity.objects, *activity.pinch):
            assert name in KNOWN.concepts, f"{activity.name}: {name}"
        for region in activity.regions:
            assert KNOWN.concepts[region].is_region, f"{activity.name}: {region}"
        assert activity.requires.keys() <= properties().keys(), activity.name
        for pattern in activity.needs:
            re.compile(pattern)


def test_no_verb_names_two_activities() -> None:
    verbs = [verb for activity in KNOWN.activities.values() for verb in activity.verbs]
    assert len(verbs) == len(set(verbs))


def test_roles_are_played_by_things_that_exist() -> None:
    roles = KNOWN.roles
    for names in (
        roles.hazards,
        roles.possible_hazards,
        roles.obstacles,
        roles.obstacles_on_ways,
        roles.fixtures,
        roles.ways,
        roles.parts,
        *roles.parts.values(),
        roles.shade_givers,
    ):
        assert set(names) <= KNOWN.concepts.keys()


@pytest.mark.parametrize(
    ("words", "concept"),
    [
        ("bench_1", "bench"),
        ("Office Chair 3", "chair"),
        ("parkingLot_2", "parking lot"),
        ("wooden picnic table", "picnic table"),
        ("cardboard boxes", "box"),
        ("fallen branches", "branch"),
        ("robot kit", "robot"),
        ("sofas", "couch"),
        ("TV", "television"),
        ("shelves", "shelf"),
        ("people", "person"),
        ("the building's main entrance", "entrance"),
        ("frobnicator", None),
    ],
)
def test_names_and_phrases_find_their_concept(words: str, concept: str | None) -> None:
    assert KNOWN.concept(words) == concept


def test_kinds_are_transitive() -> None:
    assert KNOWN.is_a("chair", "seat")
    assert KNOWN.is_a("chair", "furniture")
    assert KNOWN.is_a("excavator", "construction")
    assert KNOWN.is_a("robotics lab", "laboratory")
    assert not KNOWN.is_a("chair", "vehicle")
