"""What every explorer must do, on a bare page: no kernel, no network, every value."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from bare import open_bare
from playwright.sync_api import Browser, Page
from shown import NAMES, kind_of, names_with_tokens
from sliders import by_keys, by_pointer, by_touch

HARD = ["<script>alert(1)</script>", '"quoted"', "🙂👩‍👩‍👧", "שלום עולם"]
HARD += ["Donau" * 80, "a\nb", "", "&lt;", "' onload='x", "</SCRIPT >", "<!--", "&amp;amp;"]


@pytest.mark.parametrize("name", NAMES)
def test_every_value_by_keys(page: Page, name: str) -> None:
    kind = kind_of(name)
    open_bare(page, explorer := kind.make())
    by_keys(page.locator(".plx-root"), explorer, kind)


@pytest.mark.parametrize("name", NAMES)
def test_every_value_by_pointer(page: Page, name: str) -> None:
    kind = kind_of(name)
    open_bare(page, explorer := kind.make())
    by_pointer(page, page.locator(".plx-root"), explorer, kind)


@pytest.mark.parametrize("name", NAMES)
def test_every_value_by_touch(chromium: Browser, name: str) -> None:
    kind = kind_of(name)
    context = chromium.new_context(has_touch=True, viewport={"width": 390, "height": 844})
    page = context.new_page()
    open_bare(page, explorer := kind.make())
    by_touch(page, page.locator(".plx-root"), explorer, kind)
    context.close()


@pytest.mark.parametrize("name", NAMES)
def test_every_button(page: Page, name: str) -> None:
    kind = kind_of(name)
    open_bare(page, explorer := kind.make())
    root = page.locator(".plx-root")
    for choice in kind.choices:
        root.get_by_role("button", name=choice.label, exact=True).click()
        choice.choose(explorer)
        kind.shows(root, explorer)


@pytest.mark.parametrize("value", [-3, 99, 2.4, None, "x", float("nan")])
@pytest.mark.parametrize("name", NAMES)
def test_a_value_from_elsewhere_never_breaks_the_picture(page: Page, name: str, value: object) -> None:
    kind = kind_of(name)
    open_bare(page, explorer := kind.make())
    for trait in explorer.state():
        if not explorer.traits()[trait].read_only:
            page.evaluate("([trait, value]) => model.set(trait, value)", [trait, value])
    assert page.locator(".plx-root input[type=range]").count() == len(kind.sliders(explorer))
    for slider in page.get_by_role("slider").all():
        assert 0 <= int(slider.input_value()) <= int(slider.get_attribute("max"))


@pytest.mark.parametrize("name", names_with_tokens())
def test_hard_tokens_are_shown_as_text(page: Page, name: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a token ran as a script: {dialog.message}"))
    kind = kind_of(name)
    explorer = kind.make_hard(HARD)
    open_bare(page, explorer)
    root = page.locator(".plx-root")
    kind.shows(root, explorer)
    for token in HARD[:4]:
        assert root.get_by_text(token, exact=True).count()
    assert root.locator("script, [onload]").count() == 0
    for row in root.get_by_role("option").all():
        row.focus()
    explorer.picture()


@pytest.mark.parametrize("width", [280, 390, 700, 1200])
@pytest.mark.parametrize(
    ("name", "hard"), [*((name, False) for name in NAMES), *((name, True) for name in names_with_tokens())]
)
def test_it_fits_the_page(page: Page, name: str, hard: bool, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    kind = kind_of(name)
    open_bare(page, kind.make_hard(HARD) if hard else kind.make())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for slider in page.get_by_role("slider").all():
        assert slider.bounding_box()["width"] >= 60
    for svg in page.locator(".plx-svg").all():
        box = svg.bounding_box()
        assert box["width"] >= 100
        assert abs(box["width"] - box["height"]) <= 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_it_is_accessible(page: Page, name: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    open_bare(page, kind_of(name).make())
    found = Axe().run(page).response["violations"]
    assert [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_part_of_it_is_reached_by_tab_in_the_order_of_the_page(page: Page, name: str) -> None:
    open_bare(page, kind_of(name).make())
    page.evaluate("""() => {
      const reached = "input, button, select, [tabindex='0']";
      document.querySelectorAll(`.plx-root :is(${reached})`).forEach((each, i) => { each.dataset.stop = i; });
    }""")
    stops = page.locator("[data-stop]").count()
    seen = []
    for _ in range(stops):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.dataset.stop"))
    assert seen == [str(i) for i in range(stops)]
    assert stops >= page.get_by_role("slider").count() > 0


@pytest.mark.parametrize("name", NAMES)
def test_unmounting_stops_listening(page: Page, name: str) -> None:
    open_bare(page, kind_of(name).make())
    assert page.evaluate("Object.values(model.listeners).flat().length") > 0
    page.evaluate("unmount()")
    assert page.evaluate("Object.values(model.listeners).flat().length") == 0


@pytest.mark.parametrize("name", names_with_tokens())
def test_a_long_token_in_a_sentence_does_not_widen_the_page(page: Page, name: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    open_bare(page, kind_of(name).make_hard(["Donau" * 80, *HARD]))
    for option in page.get_by_role("option").all()[:3]:
        option.focus()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("name", NAMES)
def test_columns_go_from_left_to_right_on_any_page(page: Page, name: str) -> None:
    open_bare(page, kind_of(name).make())
    page.evaluate("document.documentElement.dir = 'rtl'")
    for grid in page.locator(".plx-grid").all():
        places = [column.bounding_box()["x"] for column in grid.locator(".plx-column").all()]
        assert places == sorted(places)


@pytest.mark.parametrize("name", NAMES)
def test_it_speaks_when_a_slider_has_come_to_rest(page: Page, name: str) -> None:
    kind = kind_of(name)
    open_bare(page, kind.make())
    page.evaluate("""() => {
      window.spoken = [];
      for (const live of document.querySelectorAll("[aria-live]")) {
        new MutationObserver(() => spoken.push(live.textContent)).observe(live, { childList: true });
      }
    }""")
    slider = page.get_by_role("slider").first
    for key in ["Home", *["ArrowRight"] * 3, *["ArrowLeft"] * 3]:
        slider.press(key)
    page.wait_for_timeout(900)
    assert len(page.evaluate("spoken")) <= 1
    assert page.locator("[aria-live]").count() == 1


@pytest.mark.parametrize("name", NAMES)
def test_what_the_page_cannot_show_is_told_to_the_model(page: Page, name: str) -> None:
    """Linked to another widget, a value may arrive that this explorer has no room for."""
    explorer = kind_of(name).make()
    open_bare(page, explorer)
    numbers = ("prefix_len", "layer", "head", "window", "step", "row", "rate", "mean_span", "draw")
    for trait in (trait for trait in numbers if trait in explorer.state()):
        page.evaluate("(trait) => model.set(trait, 999)", trait)
        held = page.evaluate("(trait) => model.get(trait)", trait)
        assert held < 999
        explorer.set_state({trait: held})  # which Python takes
        assert getattr(explorer, trait) == held
