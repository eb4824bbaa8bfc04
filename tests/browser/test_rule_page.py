"""The mask algebra explorer's module on a bare page: how it reads rules, and the field for them."""

import random
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from bare import open_bare
from drawn import read
from playwright.sync_api import Locator, Page
from shown_rule import NAMED, named_rules, shows

from prefixlm_teach import RuleExplorer, mask_from_rule, mask_parts, parse_rule
from prefixlm_teach.rule_language import PARTS

DOCUMENTS = [["Who", "sings", "?", "Bo"], ["cat", "K", "T"]]
RIGHT = NAMED["Open, then close"]


def explorer_of(rule: str = RIGHT) -> RuleExplorer:
    return RuleExplorer(DOCUMENTS, [3, 1], pads=2, rule=rule)


def field_of(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Rule", exact=True)


def error_of(rule: str) -> str:
    with pytest.raises(ValueError, match="rule") as raised:
        parse_rule(rule)
    return str(raised.value)


def some_rules() -> list[str]:
    """Rules that are right, and many that are not."""
    made = random.Random(0)  # noqa: S311 (it only mixes rules)
    soup = [*PARTS, *PARTS, "and", "or", "not", "&", "|", "~", "(", ")", "Valid", "OR", " ", "\u00a0", "\t"]
    odd = [
        "casual",
        "é",
        "🙂",
        "+",
        "1",
        "constructor",
        "__proto__",
        "toString",
        "K",
        "İ",
        "x" * 25,
        "🙂" * 22,
    ]
    odd += ["“", "\u2003", "\x00", "\u0085", "\u3000", "ﬀ", "prefix2", "&&"]
    rules = ["".join(made.choices(soup + made.choices(odd, k=2), k=made.randint(0, 14))) for _ in range(150)]
    rules += [" ".join(made.choices(soup[:16], k=made.randint(1, 9))) for _ in range(250)]

    def right(depth: int) -> str:
        if depth == 0:
            return made.choice(PARTS)
        a, b = right(made.randrange(depth)), right(made.randrange(depth))
        forms = [f"not {a}", f"~({a})", f"{a} and {b}", f"({a} | {b})", f"{a} or {b}", f"{a}&{b}"]
        return made.choice(forms)

    rules += [right(4) for _ in range(200)]
    rules += ["", " ", "(" * 20 + "causal" + ")" * 20, "(" * 21 + "causal" + ")" * 21, "(" * 200, ")" * 200]
    rules += ["~" * 194 + "causal", "~" * 200, "~" * 201, "🙂" * 200, "🙂" * 201, "causal &" * 25]
    return [*rules, *NAMED.values()]


def test_javascript_reads_every_rule_as_python_does(page: Page) -> None:
    explorer = explorer_of()
    source = explorer._esm.replace("export default", "export { readRule, holds }; export default")
    parts = mask_parts(explorer.lengths, explorer.prefix_lens, window=3, pads=2)
    rules = some_rules()
    page.set_content("<title>Rules</title>")
    read_there = page.evaluate(
        """async ([source, rules, parts, n]) => {
          const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
          const { readRule, holds } = await import(url);
          const each = Array.from({ length: n }, (_, i) => i);
          return rules.map((rule) => {
            try {
              const order = readRule(rule);
              const at = (q, k) => holds(order, (name) => parts[name][q][k]);
              return { order, mask: each.map((q) => each.map((k) => at(q, k))) };
            } catch (error) {
              return error.message;
            }
          });
        }""",
        [source, rules, {name: part.tolist() for name, part in parts.items()}, len(explorer.tokens)],
    )
    good = 0
    for rule, there in zip(rules, read_there, strict=True):
        try:
            here: Any = {"order": parse_rule(rule), "mask": mask_from_rule(rule, parts).tolist()}
            good += 1
        except ValueError as error:
            here = str(error)
        assert there == here, repr(rule)
    assert good > 200
    assert len(rules) - good > 200


@pytest.mark.parametrize(
    ("documents", "prefix_lens", "pads"),
    [(DOCUMENTS, [3, 1], 0), (DOCUMENTS[:1], [2], 2), (DOCUMENTS[:1], [2], 0), ([["a"]], [1], 0)],
)
def test_the_buttons_are_the_rules_that_make_sense(
    page: Page, documents: list[list[str]], prefix_lens: list[int], pads: int
) -> None:
    open_bare(page, explorer := RuleExplorer(documents, prefix_lens, pads=pads))
    root, named = page.locator(".plx-root"), named_rules(explorer)
    assert root.get_by_role("button").all_text_contents() == list(named)
    for name, rule in named.items():
        root.get_by_role("button", name=name, exact=True).click()
        assert parse_rule(page.evaluate("model.get('rule')")) == parse_rule(rule)
        explorer.rule = page.evaluate("model.get('rule')")
        shows(root, explorer)


def test_a_rule_typed_letter_by_letter_is_drawn_as_soon_as_it_can_be_read(page: Page) -> None:
    open_bare(page, explorer := explorer_of("causal"))
    root, field = page.locator(".plx-root"), field_of(page)
    field.fill("")
    for end in range(1, len(RIGHT) + 1):
        field.press_sequentially(RIGHT[end - 1])
        typed = RIGHT[:end]
        try:
            explorer.rule = typed
            shows(root, explorer)
        except ValueError as error:
            shows(root, explorer, str(error))
        assert page.evaluate("model.get('rule')") == explorer.rule
        assert field.input_value() == typed
        assert field.evaluate("(field) => document.activeElement === field")


def test_a_wrong_rule_leaves_the_picture_and_tells_python_nothing(page: Page) -> None:
    open_bare(page, explorer := explorer_of())
    page.evaluate("model.saved = 0; model.save_changes = () => { model.saved += 1; }; 0")
    root, field = page.locator(".plx-root"), field_of(page)
    field.fill("casual")
    shows(root, explorer, error_of("casual"))
    assert read(root)["rule"][0]["text"] == "casual"
    assert page.evaluate("[model.saved, model.get('rule')]") == [0, RIGHT]
    page.get_by_role("slider", name="Document 1: p").press("End")  # what can be moved still moves
    explorer.prefix_lens = (3, 3)
    shows(root, explorer, error_of("casual"))
    field.fill(RIGHT)
    shows(root, explorer)


def test_a_button_puts_a_wrong_rule_right(page: Page) -> None:
    open_bare(page, explorer := explorer_of())
    field_of(page).fill("(causal")
    page.get_by_role("button", name="Open, then close", exact=True).click()
    shows(page.locator(".plx-root"), explorer)


def test_python_sets_the_rule(page: Page) -> None:
    open_bare(page, explorer := explorer_of())
    field_of(page).fill("(causal")
    explorer.rule = "causal and not document"
    page.evaluate("(rule) => model.set('rule', rule)", explorer.rule)
    shows(page.locator(".plx-root"), explorer)


def test_a_bad_rule_from_elsewhere_leaves_the_picture(page: Page) -> None:
    open_bare(page, explorer := explorer_of())
    for rule, error in (("casual", error_of("casual")), (None, "rule must be a string")):
        page.evaluate("(rule) => model.set('rule', rule)", rule)
        shows(page.locator(".plx-root"), explorer, error)


@pytest.mark.parametrize(("value", "window"), [(0, 1), (-3, 1), (4.4, 4), (99, 9), (None, 1), ("x", 1)])
def test_a_bad_window_from_elsewhere_is_kept_in_its_bounds(page: Page, value: object, window: int) -> None:
    open_bare(page, explorer := explorer_of(NAMED["Window first"]))
    page.evaluate("(value) => model.set('window', value)", value)
    explorer.window = window
    shows(page.locator(".plx-root"), explorer)


@pytest.mark.parametrize("value", [None, 3, "31", [], [9, -1], [None, "x"]])
def test_bad_prefix_lengths_from_elsewhere_are_kept_in_their_bounds(page: Page, value: object) -> None:
    open_bare(page, explorer := explorer_of())
    page.evaluate("(value) => model.set('prefix_lens', value)", value)
    explorer.prefix_lens = {"31": (3, 1), "[9, -1]": (4, 0)}.get(str(value), (0, 0))
    shows(page.locator(".plx-root"), explorer)


def test_the_cursor_stays_where_the_reader_types(page: Page) -> None:
    open_bare(page, explorer := explorer_of("causal"))
    field = field_of(page)
    field.press("Home")
    field.press_sequentially("prefix or ")
    explorer.rule = "prefix or causal"
    shows(page.locator(".plx-root"), explorer)
    assert field.evaluate("(field) => field.selectionStart") == len("prefix or ")


def test_another_spelling_presses_the_same_button(page: Page) -> None:
    open_bare(page, explorer := explorer_of())
    for spelling in ("((causal | PREFIX)&document) & valid", " (Causal or prefix) AND document and (valid)"):
        field_of(page).fill(spelling)
        explorer.rule = spelling
        shows(page.locator(".plx-root"), explorer)
        assert read(page.locator(".plx-root"))["pressed"] == ["Open, then close"]


def test_the_error_belongs_to_the_field(page: Page) -> None:
    open_bare(page, explorer_of())
    field = field_of(page)
    assert field.get_attribute("aria-invalid") == "false"
    field.fill("causal or")
    assert field.get_attribute("aria-invalid") == "true"
    error = page.locator(f"#{field.get_attribute('aria-describedby')}")
    assert error.text_content() == error_of("causal or")
    assert field.get_attribute("data-lm-suppress-shortcuts") == "true"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_while_the_rule_is_wrong(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    open_bare(page, explorer_of("causal or prefix"))
    field_of(page).fill("casual")
    found = Axe().run(page).response["violations"]
    assert [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found] == []


def test_a_rule_of_several_lines_keeps_its_words_apart(page: Page) -> None:
    open_bare(page, explorer_of("(causal\nor prefix)"))
    field = field_of(page)
    assert field.input_value() == "(causal or prefix)"
    field.press("End")
    field.press("Space")
    assert field.get_attribute("aria-invalid") == "false"


def test_only_what_was_typed_last_is_spoken(page: Page) -> None:
    open_bare(page, explorer_of())
    voice = page.locator("[aria-live=polite]")
    page.evaluate("""() => {
      window.spoken = [];
      new MutationObserver(() => spoken.push(document.querySelector("[aria-live=polite]").textContent))
        .observe(document.querySelector("[aria-live=polite]"), { childList: true });
    }""")
    field_of(page).fill("")
    field_of(page).press_sequentially("causal and document and not window")
    page.wait_for_timeout(900)
    assert len(page.evaluate("spoken")) <= 2
    assert voice.count() == 1


def test_what_is_typed_is_shown_as_text(page: Page) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a rule ran as a script: {dialog.message}"))
    open_bare(page, explorer_of())
    root = page.locator(".plx-root")
    for rule in ("<script>alert(1)</script>", "<img/src=x/onerror=alert(1)>", "&lt; and causal", "éé" * 90):
        field_of(page).fill(rule)
        assert read(root)["rule"][0]["error"] == error_of(rule)
        assert root.locator("script, img").count() == 0
        page.set_viewport_size({"width": 280, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 280


ROWS = [
    (RIGHT, 0, "Row 0, “<pad>”, sees columns 2 to 4: 3 opened by the prefix."),
    (RIGHT, 8, "Row 8, “T”, sees columns 6 to 8: 3 cells of the past."),
    ("not valid", 2, "Row 2, “Who”, sees columns 0 to 1: 2 leaked. Leaked: columns 0 to 1 (padding)."),
    ("causal and not causal", 2, "Row 2, “Who”, sees nothing."),
    (
        "causal or prefix and window",
        7,
        "Row 7, “K”, sees columns 0 to 7: 2 cells of the past, 6 leaked. Leaked: columns 0 to 1 (padding), "
        "columns 2 to 5 (another document), columns 2 to 4 (beyond the window).",
    ),
    (
        "document and valid",
        6,
        "Row 6, “cat”, sees columns 6 to 8: 1 cell of the past, 2 leaked. Leaked: columns 7 to 8 (the "
        "target's future).",
    ),
    (
        "document and (prefix or not causal) and valid",
        5,
        "Row 5, “Bo”, sees columns 2 to 4: 3 cells of the past.",
    ),
]


@pytest.mark.parametrize(("rule", "q", "words"), ROWS)
def test_a_row_says_what_it_sees_and_what_of_it_leaks(page: Page, rule: str, q: int, words: str) -> None:
    open_bare(page, explorer := explorer_of(rule))
    page.get_by_role("option").nth(q).focus()
    drawn = read(page.locator(".plx-root"))
    assert drawn["readout"] == words
    assert drawn["grids"][0]["seen"] == explorer.mask[q].tolist()


def test_128_tokens_are_drawn_as_python_computes_them(page: Page) -> None:
    words = [f"w{t}" for t in range(60)]
    explorer = RuleExplorer([words, words], [20, 30], pads=8, window=16, rule=NAMED["Window first"])
    open_bare(page, explorer)
    shows(page.locator(".plx-root"), explorer)
