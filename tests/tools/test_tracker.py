from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from longthread.tools.tracker import FileRecord, find, forget_calls, merge_records, recent_files


def record(path: str, call: str = "c1", known: bool = True) -> FileRecord:
    return {"path": path, "hash": "0", "action": "read", "call": call, "known": known}


records = st.lists(
    st.builds(record, st.integers(0, 30).map(str), st.sampled_from(["c1", "c2", "c3"]), st.booleans()), max_size=25
)
writes = st.lists(st.none() | records, max_size=4)


@settings(max_examples=100)
@given(state=st.none() | records, writes=writes, cut=st.integers(0, 4))
def test_the_reducer_is_idempotent_and_does_not_mind_batches(state: Any, writes: Any, cut: int) -> None:
    whole = merge_records(state, writes)
    assert merge_records(merge_records(state, writes[:cut]), writes[cut:]) == whole
    assert merge_records(whole, writes) == whole
    assert merge_records(whole, [whole]) == whole
    assert len({each["path"] for each in whole}) == len(whole) <= 20


def test_the_newest_comes_first_and_the_oldest_goes() -> None:
    state: list[FileRecord] = []
    for n in range(25):
        state = merge_records(state, [[record(str(n))]])
    assert recent_files(state, 3) == ["24", "23", "22"]
    assert len(state) == 20
    assert find(state, "4") is None
    assert merge_records(state, [[record("10", "c9")]])[0]["call"] == "c9"


def test_merging_changes_nothing_in_place() -> None:
    given = record("a")
    merged = merge_records([given], [])
    merged[0]["known"] = False
    assert given["known"]


@settings(max_examples=100)
@given(state=records)
def test_forgetting_a_call_keeps_the_order_and_every_other_record(state: list[FileRecord]) -> None:
    before = merge_records(state, [])
    after = merge_records(before, [forget_calls(before, {"c1", "c2"})])
    assert [each["path"] for each in after] == [each["path"] for each in before]
    assert [each["known"] for each in after] == [each["known"] and each["call"] == "c3" for each in before]


def test_nothing_to_forget_is_nothing_to_write() -> None:
    assert forget_calls([record("a", "c1"), record("b", "c2", known=False)], {"c2", "c7"}) == []
