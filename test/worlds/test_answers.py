"""Reading answers: right ones, wrong ones, and ones that say nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_planner.worlds.answers import mentions, polarity

CLEAR = "Is the path to the exit clear?"
DEBRIS = "Is there debris on the path?"
DAMAGED = "Is my car damaged?"
OCCUPIED = "Are the chairs under the trees occupied?"
BLOCKING = "Is construction blocking the sidewalk?"
REACH = "Can I get to the parking lot?"
SPACE = "Is there space to park my car?"
ROOFS = "Has rain damaged any roofs?"
BUILT = "Is the playground built?"
DANGER = "I will be giving a tour of the lab for kids. Is there anything dangerous around?"


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        (CLEAR, "Yes, the path is clear.", "yes"),
        (CLEAR, "yes", "yes"),
        (CLEAR, "YES! Go ahead.", "yes"),
        (CLEAR, "No, a chair stands in the way.", "no"),
        (CLEAR, "No the path is blocked", "no"),
        (CLEAR, "Nope.", "no"),
        (CLEAR, "The path to the exit is clear.", "yes"),
        (CLEAR, "It isn't clear", "no"),
        (CLEAR, "It isn\N{RIGHT SINGLE QUOTATION MARK}t clear", "no"),
        (CLEAR, "The path is not clear: box_1 blocks it.", "no"),
        (CLEAR, "hallway_2 is blocked by box_1.", "no"),
        (CLEAR, "No obstacles were found on the path.", "yes"),
        (CLEAR, "There is nothing blocking the path.", "yes"),
        (CLEAR, "path_1 is free of debris", "yes"),
        (CLEAR, "The path is no longer clear.", "no"),
        (CLEAR, "Path clear: no", "no"),
        (CLEAR, "Is the path clear? It is blocked.", "no"),
        (CLEAR, "Unfortunately, no.", "no"),
        (CLEAR, "I could not determine whether the path is clear.", None),
        (CLEAR, "I mapped hallway_2.", None),
        (CLEAR, "", None),
        ("Is there space to park?", "None of the parking spaces is free.", "no"),
        (DEBRIS, "There is no debris on path_1.", "no"),
        (DEBRIS, "No debris was found on path_1.", "no"),
        (DEBRIS, "No, the path is clear.", "no"),
        (DEBRIS, "The path is clear.", "no"),
        (DEBRIS, "The path is debris-free.", "no"),
        (DEBRIS, "Fallen branches cover path_2.", "yes"),
        (DEBRIS, "There is debris on path_1", "yes"),
        (DEBRIS, "I inspected the path for debris. It is clear.", "no"),
        (DEBRIS, "path_1 is clear but path_2 has debris", "yes"),
        (DEBRIS, "debris: none", "no"),
        (DAMAGED, "Your car is not damaged.", "no"),
        (DAMAGED, "car_1 has a dent in the left door.", "yes"),
        (DAMAGED, "car_1 is undamaged", "no"),
        (DAMAGED, "No damage on car_1.", "no"),
        (DAMAGED, "The rear light is broken.", "yes"),
        (DAMAGED, "The car shows no signs of damage", "no"),
        (OCCUPIED, "Both chairs are occupied by people reading.", "yes"),
        (OCCUPIED, "Both chairs are free.", "no"),
        (OCCUPIED, "Nobody is sitting there", "no"),
        (OCCUPIED, "chair_1 is occupied and chair_2 is empty", None),
        (BLOCKING, "Construction is not blocking sidewalk_1.", "no"),
        (BLOCKING, "There is construction on sidewalk_2, but it does not block it.", "no"),
        (BLOCKING, "Yes: barriers stand across sidewalk_2", "yes"),
        (BLOCKING, "The sidewalk is blocked by scaffolding_1.", "yes"),
        (BLOCKING, "sidewalk_2 is clear of construction", "no"),
        (BLOCKING, "There is no construction.", "no"),
        (REACH, "You cannot get to the parking lot.", "no"),
        (REACH, "The parking lot can be reached by road_2.", "yes"),
        (REACH, "parking_lot_1 is unreachable", "no"),
        (REACH, "I arrived at parking_lot_1.", "yes"),
        (SPACE, "There is a free space: parking_space_2.", "yes"),
        (SPACE, "parking_space_1 is occupied but parking_space_2 is free.", "yes"),
        (SPACE, "parking_space_1 and parking_space_2 are taken.", "no"),
        (SPACE, "There is space at parking_lot_1.", "yes"),
        (SPACE, "There is no space.", "no"),
        (SPACE, "The lot is full.", "no"),
        (ROOFS, "No roofs are damaged.", "no"),
        (ROOFS, "roof_1 is intact, roof_2 is damaged", "yes"),
        (ROOFS, "None of the roofs are damaged.", "no"),
        (ROOFS, "All roofs are intact", "no"),
        (BUILT, "The playground is not built yet.", "no"),
        (BUILT, "The playground is still under construction", "no"),
        (BUILT, "The playground is complete.", "yes"),
        (DANGER, "Nothing dangerous was found.", "no"),
        (DANGER, "The saw is dangerous.", "yes"),
        (DANGER, "Everything is safe.", "no"),
        (DANGER, "It is not safe: saw_1 is running.", "yes"),
    ],
)
def test_polarity(question: str, answer: str, expected: str | None) -> None:
    assert polarity(answer, question) == expected


@settings(deadline=None)
@given(st.text(max_size=300), st.sampled_from([CLEAR, DEBRIS, SPACE, ""]))
def test_polarity_survives_any_answer(answer: str, question: str) -> None:
    assert polarity(answer, question) in ("yes", "no", None)


@pytest.mark.parametrize("word", ["yes", "no"])
@settings(deadline=None)
@given(rest=st.text(max_size=100))
def test_a_leading_yes_or_no_decides(word: str, rest: str) -> None:
    assert polarity(f"{word}, {rest.replace('?', '')}", CLEAR) == word


@pytest.mark.parametrize(
    ("answer", "name", "category", "expected"),
    [
        ("Sit on bench_1.", "bench_1", "bench", True),
        ("Sit on Bench 1.", "bench_1", "bench", True),
        ("Sit on the bench under the oak", "bench_1", "bench", True),
        ("There are two benches", "bench_1", "bench", True),
        ("Two people are near", "person_1", "person", True),
        ("the parking lots", "lot_a", "parking_lot", True),
        ("the parking-space is free", "parking_space_1", "parking space", True),
        ("Sit on bench_2.", "bench_1", "bench", False),
        ("Sit on bench_12.", "bench_1", "bench", False),
        ("Sit on bench 2.", "bench_1", "bench", False),
        ("The car 20 m ahead", "car_1", "car", True),
        ("The workbench", "bench_1", "bench", False),
        ("bench_1x", "bench_1", "bench", False),
        ("a sofa", "couch_1", "couch", False),
        ("Found it: TELEVISION_1", "television_1", None, True),
        ("the television", "television_1", None, True),
        ("I could not find the backpack.", "backpack_1", "backpack", False),
        ("I couldn't find your old backpack.", "backpack_1", "backpack", False),
        ("I could not find a chair at desk_1.", "desk_1", "desk", True),
        ("I could not find it at first, but the backpack is at desk_1.", "backpack_1", "backpack", True),
        ("There is no car.", "car_1", "car", False),
        ("No red car was found at lot_1.", "car_1", "car", False),
        ("No red car was found at lot_1.", "lot_1", "lot", True),
        ("No, bench_1 is taken.", "bench_1", "bench", True),
        ("There is no one at bench_1.", "bench_1", "bench", True),
        ("", "bench_1", "bench", False),
    ],
)
def test_mentions(answer: str, name: str, category: str | None, expected: bool) -> None:
    assert mentions(answer, name, category) is expected


@settings(deadline=None)
@given(st.text(max_size=200), st.text(min_size=1, max_size=20))
def test_mentions_survives_any_text(answer: str, name: str) -> None:
    assert mentions(answer, name) in (True, False)
