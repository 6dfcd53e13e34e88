"""Memories of other stores become lines that the import takes, once, with their dates."""

import asyncio
import json
import stat

import pytest
from langgraph.store.memory import InMemoryStore
from strands.memory import MemoryManager
from strands.storage.local_file_storage import LocalFileStorage
from strands.vended_memory_stores import file_memory_store, test_memory_store
from typer.testing import CliRunner

import unsay
from tests.support.fakes import FakeService
from tests.support.http import Caller
from tests.support.transfers import bring
from unsay.cli import app
from unsay.importers import SOURCES, SourceError, converted
from unsay_core.contracts import exact_json

BOB = "acme/bob"
TEA, CAR = "Alice drinks green tea.", "Alice drives a red car."
TRIED = {"jsonl", "csv", "markdown", "strands-files", "strands-json", "mem0", "langgraph", "s3-agent-memory"}
# What each store has written of TEA and of CAR, the latter with a date: files by their names.
SAMPLES = {
    "jsonl": {"a.jsonl": f'{{"text": "{TEA}"}}\n{{"text": "{CAR}", "date": "2025-01-02"}}\n'},
    "csv": {"a.csv": f"content,created_at\n{TEA},\n{CAR},2025-01-02\n"},
    "markdown": {"a.md": f"# Alice\n\n- {TEA}\n- {CAR}\n"},
    "strands-files": {"alice/tea.md": f"# Alice\n\n{TEA}\n", "alice/car.md": f"# Alice\n\n{CAR}\n"},
    "strands-json": {
        "a.json": json.dumps(
            [{"id": "1", "content": TEA}, {"id": "2", "content": CAR, "createdAt": "2025-01-02T00:00:00Z"}]
        )
    },
    "mem0": {
        "a.json": json.dumps(
            {"results": [{"id": "1", "memory": TEA}, {"id": "2", "memory": CAR, "created_at": "2025-01-02"}]}
        )
    },
    "langgraph": {
        "a.json": json.dumps(
            [{"namespace": ["alice"], "key": key, "value": text} for key, text in (("t", TEA), ("c", CAR))]
        )
    },
    "s3-agent-memory": {
        "bucket/alice/semantic/1.json": json.dumps({"id": "1", "content": TEA}),
        "bucket/alice/episodic/2.json": json.dumps(
            {"content": CAR, "created_at": "2025-01-02", "tags": ["x"]}
        ),
        "bucket/alice/index/bm25.json": json.dumps({"terms": ["tea"]}),
    },
}
DATED = SAMPLES.keys() - {"markdown", "strands-files", "langgraph"}


@pytest.fixture
def service():
    return FakeService()


@pytest.fixture
def api(service):
    return Caller(service)


def lines_of(source, path, tmp_path):
    out = tmp_path / "lines.jsonl"
    report = converted(source, path, out)
    return report, [json.loads(line) for line in out.read_bytes().splitlines()]


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def contents(api, **more):
    return {item["content"]: item for item in api.list(BOB, limit=100, **more)["items"]}


def test_every_source_is_tried_below():
    assert SOURCES.keys() == TRIED == SAMPLES.keys()


@pytest.mark.parametrize("source", SAMPLES)
def test_one_command_brings_another_store_into_ones_own_but_for_what_was_taken_back(
    source, tmp_path, monkeypatch
):
    for name, text in SAMPLES[source].items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    whole = tmp_path / next(iter(SAMPLES[source])).partition("/")[0]
    store = f"sqlite:///{tmp_path}/memory.db"
    monkeypatch.setenv("UNSAY_URL", store)
    monkeypatch.setenv("UNSAY_SCOPE", BOB)

    def ran(*more):
        done = CliRunner().invoke(app, ["import", str(whole), "--from", source, *more])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout), done.stderr

    told, _ = ran("--dry-run")
    assert (told["read"], told["written"]) == (2, 2)
    with unsay.connect(store, embedder=None) as memory:
        assert memory.list(scope=BOB).items == [], "so far it was only told"
        if source != "langgraph":
            memory.forget(memory.remember(TEA.upper(), scope=BOB), reason="user_request")
    refused = {"tombstoned": 1} if source != "langgraph" else {}
    job, mapping = ran()
    assert job["result"] == {"imported": 2 - len(refused), "refused": refused}
    assert "2 of 2 records" in mapping
    assert "valid_from" in mapping
    assert ran()[0]["result"] == {"skipped": 2 - len(refused), "refused": refused}, "begun anew"
    with unsay.connect(store, embedder=None) as memory:
        kind = "item" if source == "langgraph" else None
        items = memory.list(scope=BOB, kind=kind, limit=100).items
    assert {item.source.channel for item in items} == {"import"}
    (car,) = (item for item in items if CAR in item.content)
    assert (car.valid_from is not None) is (source in DATED)


def test_the_objects_of_a_bucket_and_its_lines_are_the_same_memories(tmp_path):
    record = {"id": "7", "namespace": "alice/home", "kind": "procedural", "content": TEA, "importance": 0.9}
    folder = tmp_path / "bucket" / "alice" / "home" / "procedural"
    folder.mkdir(parents=True)
    (folder / "7.json").write_text(
        json.dumps({k: v for k, v in record.items() if k not in ("namespace", "id")})
    )
    lines = written(tmp_path, "a.jsonl", json.dumps(record))
    (one,), (other,) = (
        lines_of("s3-agent-memory", path, tmp_path)[1] for path in (tmp_path / "bucket", lines)
    )
    assert one == other
    told = one["memory"]
    assert (told["kind"], told["importance"], told["metadata"]) == (
        "procedural",
        0.9,
        {"s3.namespace": "alice/home"},
    )


def test_dry_run_is_for_what_becomes_something_else(tmp_path):
    path = written(tmp_path, "a.jsonl", "")
    done = CliRunner().invoke(app, ["import", str(path), "--dry-run", "-s", BOB])
    assert (done.exit_code, "--from" in done.output) == (2, True)


def test_an_export_of_mem0_comes_in_with_its_dates_once_and_never_what_was_taken_back(service, api, tmp_path):
    records = [
        {
            "id": "a",
            "memory": TEA,
            "user_id": "alice",
            "hash": "h",
            "created_at": "2025-03-04T05:06:07.000008-08:00",
        },
        {
            "id": "b",
            "memory": CAR,
            "categories": ["cars"],
            "metadata": {"deep": {"n": 1}, "n": 1.5, "none": None},
        },
        {"id": "c", "memory": "Alice lives in Lisbon."},
        {"id": "d", "memory": ""},
    ]
    api.forget(api.remember("alice lives in lisbon", BOB)["id"], scope=BOB)
    report, lines = lines_of("mem0", written(tmp_path, "m.json", json.dumps({"results": records})), tmp_path)
    assert (report.read, report.written, report.refused) == (4, 3, {"no words": 1})
    assert report.fields["deep → data.metadata"] == report.fields["mem0.user_id → metadata"] == 1

    done = bring(service, lines)
    assert done.result == {"imported": 2, "refused": {"tombstoned": 1}}
    found = contents(api)
    assert found.keys() == {TEA, CAR}
    assert found[TEA]["valid_from"] == "2025-03-04T13:06:07.000008Z"
    assert found[TEA]["metadata"] == {"mem0.user_id": "alice", "mem0.hash": "h"}
    assert (found[TEA]["source"]["channel"], found[TEA]["source"]["import"]["actor"]) == ("import", "mem0")
    assert (found[CAR]["tags"], found[CAR]["valid_from"]) == (["cars"], None)
    assert str(found[CAR]["metadata"]["n"]) == "1.5"
    assert found[CAR]["data"] == {"metadata": {"deep": {"n": 1}}}

    _, again = lines_of("mem0", tmp_path / "m.json", tmp_path)
    assert again == lines
    assert bring(service, again).result == {"skipped": 2, "refused": {"tombstoned": 1}}


def test_a_list_of_records_is_an_export_of_mem0_too(tmp_path):
    path = written(tmp_path, "m.json", json.dumps([{"id": "a", "memory": TEA}]))
    assert lines_of("mem0", path, tmp_path)[0].written == 1


def test_what_strands_own_stores_have_written_comes_in(service, api, tmp_path):
    async def fill():
        files = file_memory_store.FileMemoryStore(
            name="files", storage=LocalFileStorage(str(tmp_path / "files"))
        )
        await files.add("# Drinks\nAlice drinks green tea.\n- She likes it strong.")
        kept = test_memory_store.TestMemoryStore(name="kept", path=str(tmp_path / "kept.json"))
        await kept.add(CAR, {"team": "red"})
        assert MemoryManager(stores=[files, kept])

    asyncio.run(fill())
    (folder,) = {path.parent for path in (tmp_path / "files").rglob("*.md")}
    for source, path in (("strands-files", folder), ("strands-json", tmp_path / "kept.json")):
        bring(service, lines_of(source, path, tmp_path)[1])
    found = contents(api)
    assert found.keys() == {TEA, "She likes it strong.", CAR}
    assert found[TEA]["tags"] == ["Drinks"]
    assert (found[CAR]["metadata"], found[CAR]["valid_from"] is not None) == ({"team": "red"}, True)


def test_a_dump_of_a_langgraph_store_becomes_items(service, api, tmp_path):
    store = InMemoryStore()
    store.put(("users", "alice"), "k", {"n": 1, "price": 1.5})
    store.put(("users:alice",), "k", {"n": 2})
    dump = [item.dict() for item in store.search(())]
    as_list = written(tmp_path, "dump.json", json.dumps(dump))
    as_lines = written(tmp_path, "dump.jsonl", "\n".join(map(json.dumps, dump)))
    _, lines = lines_of("langgraph", as_list, tmp_path)
    assert lines_of("langgraph", as_lines, tmp_path)[1] == lines
    assert bring(service, lines).result["imported"] == 2
    items = api.list(BOB, kind="item")["items"]
    assert {(tuple(item["path"]), item["key"], exact_json.dumps(item["data"])) for item in items} == {
        (("users", "alice"), "k", '{"n":1,"price":1.5}'),
        (("users:alice",), "k", '{"n":2}'),
    }


def test_lines_rows_and_headings_of_nobody_in_particular_come_in(service, api, tmp_path):
    sources = {
        "jsonl": written(
            tmp_path,
            "a.jsonl",
            '{"text": "One.", "date": "2025-01-02", "kind": "episodic", "by": "ann"}\n\n{"fact": "Two."}\n',
        ),
        "csv": written(tmp_path, "b.csv", "content,tags,importance,team\nThree.,a;b,0.9,red\nFour.,,,\n"),
        "markdown": written(tmp_path, "c.md", "# Drinks\n\n- Five.\n2. Six.\n\nSeven.\n"),
    }
    for source, path in sources.items():
        bring(service, lines_of(source, path, tmp_path)[1])
    found = contents(api)
    assert found.keys() == {"One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven."}
    assert (found["One."]["kind"], found["One."]["valid_from"]) == ("episodic", "2025-01-02T00:00:00.000000Z")
    assert found["One."]["metadata"] == {"by": "ann"}
    assert (found["Three."]["tags"], str(found["Three."]["importance"])) == (["a", "b"], "0.9")
    assert found["Five."]["tags"] == found["Seven."]["tags"] == ["Drinks"]


def test_a_line_above_makes_no_other_memory_of_those_below(tmp_path):
    before = lines_of("markdown", written(tmp_path, "c.md", "# Drinks\n- Five.\n"), tmp_path)[1]
    after = lines_of("markdown", written(tmp_path, "c.md", "# Drinks\n- New.\n- Five.\n"), tmp_path)[1]
    assert before[0]["memory"]["id"] == after[1]["memory"]["id"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("jsonl", '{"text": "a secret"'),
        ("jsonl", '["a secret"]'),
        ("csv", "content,tags\na secret,b,c\n"),
        ("mem0", '{"a secret": 1}'),
        ("mem0", '["a secret"]'),
        ("langgraph", "a secret"),
        ("strands-json", "{}"),
    ],
)
def test_what_is_no_such_store_is_said_and_leaves_no_file(source, text, tmp_path):
    path = written(tmp_path, "wrong.json", text)
    with pytest.raises(SourceError, match=r"wrong\.json") as told:
        converted(source, path, tmp_path / "out.jsonl")
    assert "a secret" not in str(told.value)
    assert not (tmp_path / "out.jsonl").exists()


def test_what_cannot_be_a_memory_is_left_out_and_counted(tmp_path):
    records = [{"text": " "}, {"text": "x" * 20_000}, {"id": 1, "text": "One."}, {"id": 1, "text": "One."}]
    path = written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, records)))
    report, lines = lines_of("jsonl", path, tmp_path)
    assert report.refused == {"no words": 1, "words that are too long": 1, "the same record again": 1}
    assert len(lines) == 1


def test_the_command_tells_first_and_writes_a_file_that_others_cannot_read(tmp_path):
    path, out = written(tmp_path, "a.jsonl", '{"text": "One.", "by": "ann"}'), tmp_path / "out.jsonl"
    told = CliRunner().invoke(app, ["convert", str(path), "--from", "jsonl", "--dry-run"])
    assert (told.exit_code, json.loads(told.output)["fields"]["by → metadata"]) == (0, 1), told.output
    assert not out.exists()
    made = CliRunner().invoke(app, ["convert", str(path), "--from", "jsonl", "--out", str(out)])
    assert (made.exit_code, json.loads(made.output)["written"]) == (0, 1)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    for wrong in ([], ["--dry-run", "--out", str(out)]):
        assert CliRunner().invoke(app, ["convert", str(path), "--from", "jsonl", *wrong]).exit_code == 2
    assert CliRunner().invoke(app, ["convert", str(path), "--from", "csv", "--dry-run"]).exit_code == 0
    assert CliRunner().invoke(app, ["convert", str(path), "--from", "mem0", "--dry-run"]).exit_code == 2


@pytest.mark.parametrize(
    ("source", "one", "other"),
    [
        ("jsonl", '{"text": "One."}\n{"text": "Two."}', '{"text": "Three."}\n{"text": "Two.", "by": "ann"}'),
        ("csv", "content,by\nOne.,\nTwo.,\n", "content,by\nThree.,\nTwo.,ann\n"),
        ("mem0", '[{"memory": "One."}, {"memory": "Two."}]', '[{"memory": "Three."}, {"memory": "Four."}]'),
        ("strands-json", '[{"content": "1"}, {"content": "2"}]', '[{"content": "3"}, {"content": "4"}]'),
    ],
)
def test_a_record_without_an_id_is_known_by_what_it_says(source, one, other, service, tmp_path):
    first, second = (
        lines_of(source, written(tmp_path, f"{n}.x", text), tmp_path)[1]
        for n, text in enumerate((one, other))
    )
    assert bring(service, first).result["imported"] == 2
    assert bring(service, first).result["skipped"] == 2, "the same file again"
    ids = {line["memory"]["id"] for line in (*first, *second)}
    assert len(ids) == 4, "other rows are other memories"


def test_two_records_of_one_id_and_date_that_say_different_things_are_two(service, tmp_path):
    records = [{"id": 1, "text": "One."}, {"id": 1, "text": "Two."}, {"id": 1, "text": "One."}]
    path = written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, [*records, records[1]])))
    report, lines = lines_of("jsonl", path, tmp_path)
    assert [line["memory"]["content"] for line in lines] == ["One.", "Two."]
    assert report.refused == {"the same record again": 2}
    assert bring(service, lines).result["imported"] == 2
    assert bring(service, lines_of("jsonl", path, tmp_path)[1]).result["skipped"] == 2, "begun anew"


def test_a_record_without_an_id_is_there_again_only_if_all_of_it_is(tmp_path):
    records = [{"text": "One."}, {"text": "One.", "by": "ann"}, {"by": "ann", "text": "One."}]
    path = written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, records)))
    report, lines = lines_of("jsonl", path, tmp_path)
    assert (len(lines), report.refused) == (2, {"the same record again": 1})


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("levels", [40, 900])
def test_data_that_is_deeper_than_the_import_takes_is_refused_whatever_python_could_read(levels, tmp_path):
    deep = "[" * levels + "]" * levels
    path = written(tmp_path, "a.json", f'{{"text": "a secret", "x": {deep}}}\n{{"text": "One."}}')
    report, lines = lines_of("jsonl", path, tmp_path)
    assert (report.written, report.unread) == (1, [])
    assert report.refused == {"data that is too large or too deep": 1}
    assert lines[0]["memory"]["content"] == "One."


@pytest.mark.parametrize(
    ("source", "text", "place"),
    [
        ("jsonl", '{"text": "a secret", "importance": "high"}\n{"text": "One."}', "line 1 of"),
        ("jsonl", '{"text": "One."}\n{"text": "a secret", "tags": 5}', "line 2 of"),
        ("jsonl", '{"text": "a secret", "kind": ["x"]}\n{"text": "One."}', "line 1 of"),
        ("jsonl", '{"text": "a secret", "metadata": "x"}\n{"text": "One."}', "line 1 of"),
        ("jsonl", '{"text": "a secret", "key": "\\ud83d"}\n{"text": "One."}', "line 1 of"),
        ("jsonl", '{"text": "a secret", "date": "0001-01-01T00:00+14:00"}\n{"text": "One."}', "line 1 of"),
        ("csv", "content,importance\na secret,high\nOne.,\n", "row 2 of"),
        ("csv", "content,metadata\nOne.,\na secret,x\n", "row 3 of"),
        ("mem0", '[{"memory": "a secret", "categories": 5}, {"memory": "One."}]', "record 1 of"),
        ("strands-json", '[{"content": "a secret", "metadata": 5}, {"content": "One."}]', "record 1 of"),
        ("langgraph", '[{"namespace": 5, "key": "a secret"}, {"key": "k", "value": "One."}]', "record 1 of"),
    ],
)
def test_a_record_that_cannot_be_read_is_told_with_its_place_and_the_others_come_in(
    source, text, place, tmp_path
):
    path = written(tmp_path, "a.json", text)
    report, lines = lines_of(source, path, tmp_path)
    assert (report.read, report.written, report.unread) == (2, 1, [f"{place} a.json"])
    assert "One." in lines[0]["memory"]["content"]
    told = CliRunner().invoke(app, ["convert", str(path), "--from", source, "--out", str(tmp_path / "o")])
    assert (told.exit_code, json.loads(told.stdout)["unread"]) == (0, [f"{place} a.json"])
    assert "a secret" not in told.output


@pytest.mark.parametrize("source", ["csv", "jsonl", "markdown", "mem0"])
def test_a_file_that_is_not_utf8_is_said_in_a_sentence(source, tmp_path):
    path = tmp_path / "a.x"
    path.write_bytes(b"content\ncaf\xe9\n")
    assert_said(["convert", path, "--from", source, "--dry-run"], "a.x is not")


@pytest.mark.parametrize("source", ["jsonl", "mem0"])
def test_json_that_is_too_deep_is_said_in_a_sentence(source, tmp_path):
    path = written(tmp_path, "a.x", DEEP)
    assert_said(["convert", path, "--from", source, "--dry-run"], "a.x is not JSON")


def test_a_cell_that_no_reader_takes_is_said_in_a_sentence(tmp_path):
    path = written(tmp_path, "a.x", "content\n" + "a" * 200_000 + "\n")
    assert_said(["convert", path, "--from", "csv", "--dry-run"], "a.x is not CSV")


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", ".", "--from", "mem0", "--dry-run"],
        ["convert", "a.jsonl", "--from", "jsonl", "--out", "nope/x.jsonl"],
        ["import", "."],
        ["export", "nope/x.jsonl"],
        ["export", "."],
    ],
)
def test_a_place_that_cannot_be_read_or_written_is_said_in_a_sentence(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNSAY_URL", f"sqlite:///{tmp_path}/memory.db")
    monkeypatch.setenv("UNSAY_SCOPE", BOB)
    written(tmp_path, "a.jsonl", '{"text": "One."}')
    assert_said(arguments, "irectory")


def assert_said(arguments, sentence):
    done = CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "400"})
    assert (done.exit_code, type(done.exception)) == (2, SystemExit), done.output
    assert sentence in done.output


@pytest.mark.parametrize(
    ("source", "text"), [("jsonl", '{"text": "One."}'), ("mem0", '[{"memory": "One."}]')]
)
def test_a_mark_of_the_byte_order_is_no_part_of_the_file(source, text, tmp_path):
    assert lines_of(source, written(tmp_path, "a.x", "\ufeff" + text), tmp_path)[0].written == 1
