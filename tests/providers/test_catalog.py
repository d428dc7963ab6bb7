"""Names to models, settings to keys, and models to connections."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace

import pytest

from agentcli.agent.report import lifetime
from agentcli.core.errors import ConfigError, CredentialsError, InputError
from agentcli.core.message import Usage
from agentcli.core.model import PriceChange, Prices
from agentcli.providers.catalog import ALIASES, models, short_name, spec
from agentcli.providers.connect import connect, require_sdk
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.scripted.model import ScriptedModel, say
from agentcli.providers.settings import BUILT_IN, ProviderSettings, base_url, credentials, needs_key
from tests.providers.hearing import hear, request
from tests.tables import each_row


def test_every_alias_means_a_known_model() -> None:
    for alias, name in ALIASES.items():
        assert spec(alias).name == name
        assert spec(alias).known


def test_every_model_is_found_by_its_name_and_by_its_id() -> None:
    for model in models():
        # The prices that apply today are tested below.
        known = replace(model, prices=None, price_changes=())
        assert [replace(spec(each), prices=None, price_changes=()) for each in (model.name, model.id)] == [known] * 2
        assert model.max_output <= model.window
    assert len({model.id for model in models()}) == len(models())


def test_every_summary_model_exists_and_is_of_the_same_family() -> None:
    for model in models():
        if model.summary_model:
            assert spec(model.summary_model).provider == model.provider
            assert spec(model.summary_model).known


def test_preserved_thinking_is_known_of_those_that_have_it() -> None:
    bound = {model.id for model in models() if model.preserved_thinking}
    assert bound == {"claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"}


def test_an_unknown_model_of_a_known_provider_has_stated_defaults() -> None:
    found = spec("anthropic/my-local-model")
    assert (found.known, found.window, found.prices, found.preserved_thinking) == (False, 200_000, None, False)
    assert spec("claude-brand-new").preserved_thinking
    assert spec("gemini-9-helium").kind == "google"
    assert spec("google/gemini-9-helium").window == 1_048_576


@pytest.mark.parametrize(
    ("name", "near"), [("sonnett", "sonnet"), ("antropic/claude-opus-5-5", "anthropic"), ("claude", "")]
)
def test_an_unknown_name_is_answered_with_the_near_ones(name: str, near: str) -> None:
    if not near:
        assert spec(name).known
        return
    with pytest.raises(InputError, match=near):
        spec(name)
    with pytest.raises(InputError):
        spec("zzz/zzz")
    with pytest.raises(InputError):
        spec("")


def test_config_overrides_what_the_table_says() -> None:
    overrides = {"claude-opus-5-5": {"window": 500_000, "prices": {"input": 1.0}}, "anthropic/mine": {"max_output": 9}}
    found = spec("opus", overrides)
    assert found.window == 500_000
    assert found.prices is not None
    assert (found.prices.input, found.prices.output) == (1.0, 20)
    assert spec("anthropic/mine", overrides).max_output == 9
    assert spec("anthropic/mine", overrides).known
    for wrong in ({"windw": 1}, {"window": "big"}, {"prices": {"inputs": 1}}, {"window": -1}, {"images": 1}):
        with pytest.raises(ConfigError):
            spec("opus", {"claude-opus-5-5": wrong})


def test_a_configured_provider_brings_its_own_models() -> None:
    providers = {
        "ollama": ProviderSettings(
            "ollama", "anthropic", base_url="http://localhost:11434", thinking="none", caching=False
        )
    }
    found = spec("ollama/qwen3:32b", {}, providers)
    assert (found.provider, found.id, found.kind, found.cache_explicit) == ("ollama", "qwen3:32b", "anthropic", False)
    same = spec("ollama/claude-opus-5-5", {}, providers)
    assert (same.window, same.prices, same.thinking) == (1_000_000, None, "none")
    assert spec("router/a/b", {}, {"router": ProviderSettings("router", "anthropic")}).id == "a/b"


def test_long_prompts_cost_what_long_prompts_cost() -> None:
    haiku = spec("haiku")
    assert haiku.cost(Usage(input=100_000)) == pytest.approx(0.01)
    assert haiku.cost(Usage(input=50_000, cache_read=60_000, output=1000)) == pytest.approx(0.025 + 0.003 + 0.0025)
    assert spec("opus").cost(Usage(1_000_000, 1_000_000, 0, 1_000_000, 1_000_000)) == pytest.approx(4 + 20 + 0.2 + 5)
    assert spec("anthropic/unheard-of").cost(Usage(1)) is None
    assert Prices().cost(Usage(1, 1)) == 0


def test_keys_come_from_the_sdks_own_variables() -> None:
    vendor, google = BUILT_IN["anthropic"], BUILT_IN["google"]
    assert credentials(vendor, {"ANTHROPIC_AUTH_TOKEN": "b"}) == "b"
    assert credentials(vendor, {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_AUTH_TOKEN": "b"}) == "a"
    assert credentials(google, {"GEMINI_API_KEY": "g", "GOOGLE_API_KEY": " k "}) == "k"
    assert credentials(vendor, {"ANTHROPIC_API_KEY": ""}) is None
    assert base_url(vendor, {"ANTHROPIC_BASE_URL": "http://x"}) == "http://x"
    assert base_url(google, {"GOOGLE_GEMINI_BASE_URL": "http://y"}) == "http://y"


def test_a_vendors_key_never_goes_to_somebody_elses_server() -> None:
    other = ProviderSettings("other", "anthropic", base_url="https://example.org", api_key_env="OTHER_KEY")
    assert credentials(other, {"ANTHROPIC_API_KEY": "a"}) is None
    assert credentials(other, {"OTHER_KEY": "o", "ANTHROPIC_API_KEY": "a"}) == "o"
    assert credentials(ProviderSettings("nameless", "anthropic"), {"ANTHROPIC_API_KEY": "a"}) is None
    assert base_url(other, {"ANTHROPIC_BASE_URL": "http://x"}) == "https://example.org"


@each_row(
    ("url", "needed"),
    [
        ("", True),
        ("https://example.org", True),
        ("http://localhost:1", False),
        ("http://127.0.0.1:1", False),
        ("http://192.168.1.5", False),
    ],
)
def test_only_a_server_nearby_may_do_without_a_key(url: str, needed: bool) -> None:
    settings = ProviderSettings("p", "anthropic", base_url=url, api_key_env="P_KEY")
    assert needs_key(settings, {}) is needed
    found = spec("p/m", {}, {"p": settings})
    if needed:
        with pytest.raises(CredentialsError, match="P_KEY"):
            connect(found, settings, {})
    else:
        assert connect(found, settings, {}).spec == found


@pytest.mark.parametrize(
    ("name", "words"), [("anthropic/", "Which model of anthropic"), ("script:", "Unknown model 'script:'")]
)
def test_a_name_without_a_model_in_it_is_told(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        spec(name)


def test_without_a_key_one_is_told_what_to_set() -> None:
    with pytest.raises(CredentialsError, match=r"ANTHROPIC_API_KEY.*agentcli demo"):
        connect(spec("opus"), None, {})
    with pytest.raises(CredentialsError, match="characters"):
        connect(spec("opus"), None, {"ANTHROPIC_API_KEY": "ключ"})


def test_a_provider_that_was_taken_out_of_the_config_is_named() -> None:
    gone = spec("gone/m", {}, {"gone": ProviderSettings("gone", "anthropic", base_url="http://localhost:1")})
    with pytest.raises(InputError, match=r"\[providers\.gone\]"):
        connect(gone, None, {})


def test_the_demo_comes_from_whoever_builds_it() -> None:
    made = connect(spec("demo"), None, {}, built_in={"demo": lambda found: ScriptedModel(found, [say("demo!")])})
    assert asyncio.run(hear(made, request(made.spec, "x"))).text == "demo!"


def test_connecting_imports_no_sdk() -> None:
    code = (
        "import sys\n"
        "from agentcli.providers import anthropic, catalog, connect, google, retrying, scripted, settings\n"
        "from agentcli.providers.scripted import builtin\n"
        "connect.connect(catalog.spec('opus'), None, {'ANTHROPIC_API_KEY': 'k'})\n"
        "connect.connect(catalog.spec('flash'), None, {'GEMINI_API_KEY': 'k'})\n"
        "heavy = {'anthropic', 'google', 'httpx2', 'pydantic', 'asyncio', 'email'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_prices_are_those_of_the_day() -> None:
    for name, day, dearer in (("argon", "2026-12-01", (4, 20)), ("gemini-3.8-flash", "2027-01-01", (1.5, 7.5))):
        before, after = spec(name, today="2026-11-30"), spec(name, today=day)
        assert (before.prices, after.prices) != (None, None)
        assert before.prices.input * 2 == after.prices.input  # type: ignore[union-attr]
        assert (after.prices.input, after.prices.output) == dearer  # type: ignore[union-attr]
        assert [change.since for change in before.price_changes] == [day]
        assert after.price_changes == ()


def test_a_cost_follows_a_change_that_comes_while_the_program_runs() -> None:
    past, coming = PriceChange("2020-01-01", Prices(2)), PriceChange("9999-01-01", Prices(8))
    running = replace(spec("argon"), prices=Prices(1), price_changes=(past, coming))
    assert running.cost(Usage(input=1_000_000)) == 2


def test_a_tier_costs_its_multiple_and_one_without_a_price_the_standard_price() -> None:
    used = Usage(input=100_000, output=180_000)
    tiers = {"priority": 4.0, "flex": 1.0, "scale": 2.0, "": 2.0}
    assert {tier: spec("openai/gpt-6-sol").cost(replace(used, tier=tier)) for tier in tiers} == tiers
    own = {"openai/gpt-6-sol": {"tiers": {"flex": 0.25}}}
    assert [spec("openai/gpt-6-sol", own).cost(replace(used, tier=tier)) for tier in ("flex", "priority")] == [0.5, 4.0]
    gateway = ProviderSettings("mine", "openai", base_url="https://example.org")
    assert spec("mine/gpt-6-sol", providers={"mine": gateway}).tiers == {}, "prices elsewhere may differ"


def test_prices_of_the_configuration_may_be_dated() -> None:
    dated = [{"input": 1.0, "output": 5.0}, {"since": "2027-01-01", "input": 2.0}]
    assert (
        spec("argon", {"google/gemini-4-argon": {"prices": dated}}, today="2026-12-31").cost(
            Usage(input=10**6), "2026-12-31"
        )
        == 1
    )
    after = spec("argon", {"google/gemini-4-argon": {"prices": dated}}, today="2027-01-01").prices
    assert after is not None
    assert (after.input, after.output) == (2.0, 5.0)
    fixed = spec("argon", {"gemini-4-argon": {"prices": {"input": 3.0}}}, today="2026-11-30")
    assert fixed.price_changes == ()


def test_a_model_that_ends_is_announced_with_its_successor() -> None:
    sonnet = spec("claude-sonnet-4-5")
    assert lifetime(sonnet, "2026-10-30") == ""
    assert lifetime(sonnet, "2026-11-22") == "Sonnet 4.5 retires on 30 Nov. Switch: /model sonnet-5-5"
    assert "Sonnet 4.5 was retired on 30 Nov." in lifetime(sonnet, "2026-11-30")
    assert "on 30 Nov 2026. Switch: /model sonnet-5-5" in lifetime(sonnet, "2027-01-01")
    assert lifetime(spec("claude-sonnet-5-5"), "2027-01-01") == ""
    elsewhere = {"mine": ProviderSettings("mine", "anthropic")}
    assert lifetime(spec("mine/claude-sonnet-4-5", providers=elsewhere), "2027-01-01") == ""
    assert all(spec(model.successor).known for model in models() if model.successor)


@each_row("dated", ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5@20250929", "sonnet-4-5-20250929"])
@pytest.mark.parametrize("provider", ["", "anthropic/"])
def test_a_dated_id_of_the_vendor_has_the_figures_of_its_model(provider: str, dated: str) -> None:
    listed, found = spec("claude-sonnet-4-5"), spec(provider + dated)
    assert found.id.endswith("20250929")
    assert found.id.startswith("claude-")
    assert replace(found, id=listed.id) == listed


def test_config_for_a_model_holds_for_its_dated_ids_unless_they_have_their_own() -> None:
    overrides = {"claude-sonnet-4-5": {"window": 90_000}, "anthropic/claude-sonnet-4-5-20250929": {"max_output": 5_000}}
    assert spec("claude-sonnet-4-5-20250929", overrides).window == 90_000
    assert spec("claude-sonnet-4-5-20250929", overrides).max_output == 5_000
    assert spec("claude-sonnet-4-5", overrides).max_output == 64_000


@each_row(
    "name", [*(model.name for model in models()), "ollama/qwen3", "anthropic/claude-9", "google/gemma-3", "openai/x"]
)
def test_every_name_that_is_shown_is_taken(name: str) -> None:
    assert spec(short_name(name)).name == name


def test_names_are_shown_short() -> None:
    shown = ["anthropic/claude-sonnet-4-5", "google/gemini-3.8-flash", "ollama/qwen3", "script//tmp/a.json"]
    assert [*map(short_name, shown)] == ["sonnet-4-5", "gemini-3.8-flash", "ollama/qwen3", "a.json"]


def test_a_server_of_somebody_else_is_asked_for_the_model_as_it_was_named() -> None:
    mine = {"mine": ProviderSettings("mine", "anthropic", base_url="http://127.0.0.1:1")}
    assert spec("mine/sonnet-4-5", providers=mine).id == "sonnet-4-5"
    assert not spec("mine/sonnet-4-5", providers=mine).known


@each_row(
    ("name", "minimum"),
    [
        ("openrouter/anthropic/claude-sonnet-4.5", 1024),
        ("openrouter/claude-opus-5-5", 512),
        ("openrouter/anthropic/claude-9", 4096),
        ("openrouter/openai/gpt-5", 0),
    ],
)
def test_a_claude_behind_chat_completions_caches_what_is_marked(name: str, minimum: int) -> None:
    found = spec(name)
    assert found.cache_explicit is bool(minimum)
    assert found.kind == "openai"
    if minimum:
        assert found.cache_minimum == minimum


def test_where_only_fresh_input_is_priced_the_cache_is_not_free() -> None:
    prices = {"prices": {"input": 4.0, "output": 10.0}}
    read, write = Usage(cache_read=10**6), Usage(cache_write=10**6)
    claude = spec("openrouter/anthropic/claude-9", {"openrouter/anthropic/claude-9": prices})
    assert (claude.cost(read), claude.cost(write)) == pytest.approx((0.4, 5.0))
    other = spec("openrouter/openai/gpt-5", {"openrouter/openai/gpt-5": prices})
    assert (other.cost(read), other.cost(write)) == (4.0, 4.0)
    told = {"prices": {**prices["prices"], "cache_read": 0.0, "cache_write": 1.0}}
    named = spec("openrouter/anthropic/claude-9", {"openrouter/anthropic/claude-9": told})
    assert (named.cost(read), named.cost(write)) == (0.0, 1.0)


@each_row(
    ("name", "assumed", "window", "price"),
    [
        ("claude-fable-5-2", "claude-fable-5-1", 1_000_000, 10),
        ("claude-haiku-5-6-20270101", "claude-haiku-5-5", 1_000_000, 0.1),
        ("claude-mythos-5-2", "claude-opus-5-5", 1_000_000, None),
        ("gemini-3.9-flash", "gemini-3.8-flash", 1_048_576, 0.75),
        ("gemini-4-carbon", "gemini-4-argon", 1_048_576, None),
        ("gpt-6.3-sol", "gpt-6.2-sol", 1_050_000, 2),
        ("claude-opus-4-1", "", 200_000, None),
        ("claude-opus-6", "", 200_000, None),
    ],
)
def test_a_new_model_of_a_known_line_takes_the_figures_of_the_one_before_it(
    name: str, assumed: str, window: int, price: float | None
) -> None:
    found = spec(name)
    assert (found.known, found.assumed, found.window) == (False, assumed, window)
    assert (found.prices and found.prices.input) == price


def test_nobody_is_told_to_install_an_sdk_for_a_model_that_is_not_known_without_that_doubt() -> None:
    lacking = replace(PROVIDERS["openai"], sdk="no_such_module")
    with pytest.raises(InputError) as refused:
        require_sdk(lacking, spec("gpt-5x"), "")
    assert str(refused.value).startswith("agentcli does not know the model 'gpt-5x'. Did you mean gpt-")
    assert "If it exists: openai/gpt-5x needs the SDK of OpenAI, which is not installed. Install it: " in str(
        refused.value
    )
    with pytest.raises(InputError, match=r"^openai/\S+ needs the SDK of OpenAI"):
        require_sdk(lacking, spec(lacking.models[0].name), "")
