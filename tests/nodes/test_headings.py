"""The sections' headings in every spelling that weak models were seen to use."""

import json

import pytest

from compactions import SECTIONS, SUMMARY
from longthread.nodes.history.summary import judge, mend, read_sections

ALONE = [
    *("## {}", "##{}", "# {}:", "###### {}", "  ## {}", "   ## {}", "## {} ##", "## {}: ##", "##\u00a0{}", "＃＃ {}"),
    *("## 1. {}", "## 1) {}", "## 1 {}", "1. {}", "2) {}", "(3) {}", "1. **{}**", "**1. {}**", "## 1. **{}**:"),
    *("**{}**", "__{}__", "*{}*", "**{}:**", "**{}**:", "### **{}**", "- **{}**", "* **{}**:", "• **{}**"),
    *("{}", "{}:", "{}：", "## ✅ {}", "✅ {}", "## {} 🚀", "## 1️⃣ {}", "<h2>{}</h2>", "- ## {}"),
]
WITH_TEXT = [
    *("## {}: text", "**{}:** text", "**{}**: text", "- **{}**: text", "- **{}:** text", "{}: text", "**{}:**text"),
    *("1. {}: text", "1. **{}**: text", "## {} - text", "## {} — text", "## **{}** – text"),
]
PROSE = [
    *("{} were made early", "The {} were made", "- {}", "- {} were made", "**{}** is next", "*{}* is next"),
    *("{} - text", "> ## {}", "> {}", "`{}`", "“{}”", '"{}"', "({})", "[{}](#x)", "| {} | x |", "{}s", "In{}", "{} …"),
    *("## {} …", "## {} was changed", "//{}", "{}, too", "see {}: text"),
]


@pytest.mark.parametrize("spelling", ALONE)
def test_a_heading_is_read_in_every_spelling_and_rendered_in_one(spelling: str) -> None:
    text = "\n".join(f"{spelling.format(name)}\nnothing of note" for name in SECTIONS)
    assert judge(text, 1_000).good
    assert mend(text, 1_000) == SUMMARY
    assert mend(text.upper().replace("NOTHING OF NOTE", "nothing of note"), 1_000) == SUMMARY


@pytest.mark.parametrize("spelling", WITH_TEXT)
def test_text_on_the_same_line_belongs_to_the_body(spelling: str) -> None:
    text = "\n\n".join(f"{spelling.format(name)}\nmore" for name in SECTIONS)
    assert read_sections(text) == dict.fromkeys(SECTIONS, "text\nmore")


@pytest.mark.parametrize("spelling", PROSE)
def test_a_name_in_a_sentence_or_a_quotation_is_no_heading(spelling: str) -> None:
    line = spelling.format("Key Decisions")
    assert tuple(read_sections(f"## Active Task\nx\n{line}\ny")) == ("Active Task",)


def test_emphasis_behind_the_colon_is_the_texts_own() -> None:
    assert read_sections("## Active Task: **now** done")["Active Task"] == "**now** done"
    assert read_sections("## Active Task (in progress)\nx")["Active Task"] == "(in progress)\nx"


@pytest.mark.parametrize("end", ["\r\n", "\r", "\u2028", "\x85"])
def test_every_line_end_is_one(end: str) -> None:
    assert mend(SUMMARY.replace("\n", end), 1_000) == SUMMARY


@pytest.mark.parametrize("marks", ["```\n{}\n```", "```markdown\n{}\n```", "Here it is:\n~~~\n{}", "{}\n````"])
def test_a_summary_in_a_fence_is_one(marks: str) -> None:
    assert mend(marks.format(SUMMARY), 1_000) == SUMMARY


@pytest.mark.parametrize("underline", ["---", "=====", " -"])
def test_headings_that_are_underlined_are_read(underline: str) -> None:
    text = "\n".join(f"{name}\n{underline}\nnothing of note\n" for name in SECTIONS)
    assert mend(text, 1_000) == SUMMARY


@pytest.mark.parametrize("value", ["nothing of note", ["nothing of note"]])
@pytest.mark.parametrize("key", [str, str.lower, lambda name: name.lower().replace(" ", "_")])
def test_an_object_with_the_names_as_keys_is_read(key: object, value: object) -> None:
    assert callable(key)
    text = json.dumps({key(name): value for name in SECTIONS})
    for given in (text, f"```json\n{text}\n```"):
        assert mend(given, 1_000).replace("\n- ", "\n") == SUMMARY


@pytest.mark.parametrize("text", ['{"a": "b"}', '{"Active Task": ', "{" * 5_000, "[1]", '{"x": {"Active Task": "y"}}'])
def test_another_object_has_no_sections(text: str) -> None:
    assert read_sections(text) == {}
