"""Key-value caches: inference servers that store what prefill computes, and read it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.plans.kind import Description, Kind, called, which, with_additions
from ioassay.text.units import format_count, format_duration

if TYPE_CHECKING:
    from ioassay.plans.sizes import Contents
    from ioassay.protocol.plan import Span, WorkKvCache


class KvCache(Kind["WorkKvCache"]):
    """Answers requests."""

    def words(self, plan: Contents, work: WorkKvCache, name: str | None) -> str:
        """What users ask, and what the accelerator does."""
        contexts = work["contexts"]
        think = work["think_ns"]
        memory = work.get("memory_objects", 0)
        first, each = work.get("first_token_deadline_ns"), work.get("token_deadline_ns")
        additions = [
            f"{format_count(work['users'], 'user')} of each rank",
            f"conversations of {_span(work['turns'])} requests that begin with one of {contexts['count']} contexts of "
            f"{_span(contexts['tokens'])} tokens (Zipf, exponent {contexts['exponent']:g})",
            f"{_span(work['prompt_tokens'])} tokens for each request and {_span(work['answer_tokens'])} for its answer",
            f"{work['object_tokens']} tokens in each object",
            f"{work['prefill_tokens_per_s']} tokens per second in prefill and {work['decode_tokens_per_s']} in decode",
            f"{format_duration(think)} of thinking after each answer" if think else "",
            f"{format_count(memory, 'object')} in the memory of each rank" if memory else "",
            f"a first token within {format_duration(first)}" if first else "",
            f"each token of an answer within {format_duration(each)}" if each else "",
            "each object verified" if work.get("verify") else "",
        ]
        of = which(plan, work["files"])
        return f"answer requests with the key-value cache{of}{called(name, 'kv-cache')}{with_additions(additions)}"

    def description(self, plan: Contents, work: WorkKvCache) -> Description:
        """The file set of its objects."""
        return {
            "file_set": work["files"],
            "layout": "N-N",
            "order": "",
            "transfer_bytes": plan["files"][work["files"]]["transfer_bytes"],
            "payload": "unique",
            "fsync": "never",
        }

    def files(self, work: WorkKvCache) -> list[str]:
        """The one that holds its objects."""
        return [work["files"]]


def _span(span: Span) -> str:
    return str(span["least"]) if span["least"] == span["most"] else f"{span['least']} to {span['most']}"
