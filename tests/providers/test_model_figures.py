"""Windows and prices in the format of models.dev, above the built-in table."""

from __future__ import annotations

import json
import socket
from datetime import date
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.core.model import PriceChange, Prices
from agentcli.frontends.sections import SCHEMA
from agentcli.program.config import Config
from agentcli.program.models import Models
from agentcli.providers import model_figures
from agentcli.providers.settings import BUILT_IN
from tests.tables import each_row

LIST = {
    "openrouter": {
        "models": {
            "acme/roadrunner": {
                "limit": {"context": 64_000, "output": 8_000},
                "cost": {"input": 1, "output": 4, "cache_read": 0.1},
                "modalities": {"input": ["text"]},
            },
            "acme/tiered": {
                "cost": {
                    "input": 5,
                    "output": 30,
                    "tiers": [{"tier": {"type": "context", "size": 272_000}, "input": 10, "output": 45}],
                }
            },
            "free": {"limit": {"context": 0}},
        }
    },
    "google": {
        "models": {
            "gemini-4-argon": {
                "cost": {"input": 9, "output": 9, "context_over_200k": {"input": 18}},
                "modalities": {"input": ["text", "image"]},
            }
        }
    },
    "somebody": {"models": {"else": {"limit": {"context": 1}}}},
}


def read(day: str = "2026-11-22") -> model_figures.Figures:
    return model_figures.parsed(json.dumps(LIST).encode(), "list.json", day, BUILT_IN)


def test_a_model_that_is_in_no_table_has_what_was_read() -> None:
    spec = Models(Config(SCHEMA), {}, figures=read()).spec("openrouter/acme/roadrunner")
    assert (spec.window, spec.max_output, spec.images, spec.known) == (64_000, 8_000, False, True)
    assert spec.prices == Prices(1, 4, 0.1, 1)


def test_long_prompts_have_prices_of_their_own() -> None:
    prices = Models(Config(SCHEMA), {}, figures=read()).spec("openrouter/acme/tiered").prices
    assert prices == Prices(5, 30, 5, 5, 272_000, 10, 45, 5, 5)


def test_only_models_of_known_providers_are_read() -> None:
    assert set(read().models) == {"openrouter/acme/roadrunner", "openrouter/acme/tiered", "google/gemini-4-argon"}


def test_what_was_read_stands_above_the_table_and_below_the_configuration() -> None:
    models = Models(
        Config(SCHEMA, models={"google/gemini-4-argon": {"window": 5_000}}), {}, figures=read(date.today().isoformat())
    )
    spec = models.spec("argon")
    assert spec.prices is not None
    assert (spec.prices.input, spec.prices.over, spec.prices.over_input, spec.prices.over_output) == (9, 200_000, 18, 9)
    assert spec.window == 5_000


def test_changes_of_prices_that_lie_ahead_still_come() -> None:
    changes = {
        "google/gemini-4-argon": (PriceChange("2026-12-01", Prices(4, 20, 0.4, 4)), PriceChange("2026-11-01", Prices()))
    }
    prices = read().over(changes)["google/gemini-4-argon"]["prices"]
    assert [each.get("since", "") for each in prices] == ["", "2026-12-01"]


def test_they_are_kept_and_a_file_that_cannot_be_read_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "state" / model_figures.FILE
    assert model_figures.load(path) == model_figures.Figures()
    model_figures.keep(path, read())
    assert model_figures.load(path) == read()
    path.write_text("{")
    assert model_figures.load(path).models == {}


@each_row("text", ["", "[]", '{"openai": 5}', '{"openai": {"models": {"x": []}}}', '{"nobody": {"models": {}}}'])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        model_figures.parsed(text.encode(), "list.json", "2026-11-22", BUILT_IN)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Can't read .*: No such file"):
        model_figures.read(str(tmp_path / "none.json"))


def test_an_address_where_nobody_listens_is_named_with_the_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/list.json"
    with pytest.raises(InputError) as failed:
        model_figures.read(url)
    assert str(failed.value) == f"Can't read {url}: Connection refused."


@each_row("price", ["NaN", "Infinity", "-3", "1e400", "100001", "true", "9" * 400])
def test_prices_that_are_no_prices_are_left_out_and_named(price: str, tmp_path: Path) -> None:
    text = """{"google": {"models": {
        "odd": {"limit": {"context": 64000}, "cost": {"input": 1, "output": 2, "cache_read": PRICE}},
        "long": {"cost": {"input": 1, "output": 2, "context_over_200k": {"input": PRICE}}},
        "sound": {"cost": {"input": 1, "output": 2}}
    }}}""".replace("PRICE", price)
    found = model_figures.parsed(text.encode(), "list.json", "2026-11-22", BUILT_IN)
    assert found.refused == ("google/odd", "google/long")
    assert found.models["google/odd"] == {"window": 64_000}
    assert found.models["google/sound"]["prices"]["input"] == 1
    path = tmp_path / model_figures.FILE
    path.write_text(
        '{"source": "s", "day": "d", "models": {"google/odd": {"prices": {"input": PRICE}}}}'.replace("PRICE", price)
    )
    assert model_figures.load(path).models == {"google/odd": {}}, "a list that an older version has kept"


@each_row("window", ["-5", "0", "true", "1e9", "100000001"])
def test_windows_that_are_no_windows_are_left_out(window: str) -> None:
    text = '{"google": {"models": {"m": {"limit": {"context": WINDOW, "output": 9}}}}}'.replace("WINDOW", window)
    assert model_figures.parsed(text.encode(), "list.json", "2026-11-22", BUILT_IN).models == {
        "google/m": {"max_output": 9}
    }
