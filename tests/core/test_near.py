from agentcli.core.near import did_you_mean, near_names


def test_at_most_three_names_are_offered_the_nearest_first() -> None:
    near = near_names("modl", ["other", "models", "mode", "model", "modal"])
    assert near[0] == "model"
    assert len(near) == 3
    assert did_you_mean(near[:2]) == f" Did you mean model or {near[1]}?"


def test_nothing_is_offered_where_nothing_is_near() -> None:
    assert near_names("zzz", ["model"]) == []
    assert did_you_mean([]) == ""
