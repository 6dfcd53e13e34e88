"""What other stores have written comes into a scope: dated, once, and never what was taken back there."""

import json
import tempfile
from pathlib import Path

import unsay
from unsay.importers import converted

SCOPE = "acme/users/alice"
TEA, BOAT = "Alice drinks green tea.", "Alice has a boat."

# Two memories of each, as each store writes them.
WRITTEN = {
    "mem0": {
        "mem0.json": {
            "results": [
                {"id": "1", "memory": TEA},
                {"id": "2", "memory": BOAT, "created_at": "2025-03-04T05:06:07Z"},
            ]
        }
    },
    "strands-json": {"memories.json": [{"id": "1", "content": TEA}, {"id": "2", "content": BOAT}]},
    "strands-files": {"alice/tea.md": f"# Alice\n\n{TEA}\n", "alice/boat.md": f"# Alice\n\n{BOAT}\n"},
    "langgraph": {
        "items.json": [
            {"namespace": ["alice"], "key": key, "value": {"text": text}}
            for key, text in (("tea", TEA), ("boat", BOAT))
        ]
    },
    "s3-agent-memory": {
        "bucket/alice/semantic/1.json": {"content": TEA},
        "bucket/alice/semantic/2.json": {"content": BOAT},
    },
    "jsonl": {"lines.jsonl": f'{{"text": "{TEA}"}}\n{{"text": "{BOAT}", "date": "2025-03-04"}}\n'},
    "csv": {"rows.csv": f"content,tags\n{TEA},drinks\n{BOAT},\n"},
    "markdown": {"notes.md": f"# Alice\n\n- {TEA}\n- {BOAT}\n"},
}


def main() -> None:
    for source, files in WRITTEN.items():
        with tempfile.TemporaryDirectory() as folder, unsay.connect("memory://") as memory:
            for name, content in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content if isinstance(content, str) else json.dumps(content))
            written = Path(folder, next(iter(files)).partition("/")[0])
            memory.forget(memory.remember(TEA, scope=SCOPE), reason="user_request")

            lines = Path(folder, "alice.jsonl")
            report = converted(source, written, lines)
            job = memory.bring([json.loads(line) for line in lines.read_text().splitlines()], scope=SCOPE)
            told = memory.job(job.id, scope=SCOPE).result
            print(f"{source}: {report.read} read, {told['imported']} imported, refused: {told['refused']}")


if __name__ == "__main__":
    main()
