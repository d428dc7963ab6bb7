"""Tell the summary what matters, and the model where the summary came from."""

from agentcli.extension import Compaction, on


@on("before_compact")
def focus(compaction: Compaction) -> str:
    return f"{compaction.focus} Keep every decision with its reason, and every file name.".strip()


@on("after_compact")
def remark(compaction: Compaction) -> str:
    return f"The summary has {len(compaction.summary)} characters."
