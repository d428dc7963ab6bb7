"""Hosts that sandboxed commands may reach."""

from __future__ import annotations

from agentcli.permissions.network.hosts import Hosts, host_name, hosts_in
from agentcli.permissions.rules import parse_rules
from tests.tables import each_row


@each_row(
    ("host", "verdict"),
    [
        ("good.example.org", "allow"),
        ("a.docs.example.org", "allow"),
        ("docs.example.org", "ask"),
        ("bad.docs.example.org", "deny"),
        ("git.example.com", "allow"),
        ("registry.example.com", "allow"),
        ("other.example.com", "ask"),
    ],
)
def test_rules_then_remotes_then_registries_decide_about_a_host(host: str, verdict: str) -> None:
    rules = parse_rules(
        allow=["network(good.example.org)", "network(*.docs.example.org)"], deny=["network(bad.docs.example.org)"]
    )
    hosts = Hosts(rules, frozenset({"git.example.com"}), frozenset({"registry.example.com"}))
    assert hosts.verdict(host)[0] == verdict


def test_hosts_are_found_in_settings_of_git_and_package_managers() -> None:
    texts = [
        "[remote]\n\turl = git@git.example.com:a/b.git",
        "https://user:key@registry.example.org/simple",
        "http://127.0.0.1:99/",
        "https://localhost/",
    ]
    assert hosts_in(texts) == {"git.example.com", "registry.example.org"}


def test_a_host_has_one_form() -> None:
    assert host_name("Good.Example.ORG.") == "good.example.org"
    assert host_name("xn--bcher-kva.example") == "xn--bcher-kva.example"
