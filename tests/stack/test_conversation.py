"""One agent's day over HTTP: every join of the deployed stack in one conversation."""

from __future__ import annotations

import pytest

from tests.support.stack import Stack, eventually

pytestmark = pytest.mark.stack


def recalled(client, scope, query, **more):
    answer = client.post("/v1/recall", json={"scope": scope, "query": query, **more})
    assert answer.status_code == 200, answer.text
    return [item["memory"]["content"] for item in answer.json()["items"]]


def remember(client, scope, content, **more):
    answer = client.post("/v1/memories", json={"scope": scope, "content": content, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def get(client, scope, memory_id):
    return client.get(f"/v1/memories/{memory_id}", params={"scope": scope})


def is_indexed(client, scope, memory_id):
    return get(client, scope, memory_id).json()["index"]["state"] == "indexed"


def correct(client, scope, memory_id, content, because="changed"):
    return client.post(
        f"/v1/memories/{memory_id}/correct",
        params={"scope": scope},
        json={"content": content, "because": because},
        headers={"If-Match": '"1"'},
    )


def forget(client, scope, memory_id):
    answer = client.delete(f"/v1/memories/{memory_id}", params={"scope": scope, "reason": "user_request"})
    assert answer.status_code == 202, answer.text
    return answer.json()


def test_a_memory_is_recalled_corrected_and_forgotten_and_its_neighbour_stays(stack: Stack):
    scope = "conversation/users/dora"
    with stack.client() as client:
        tea = remember(client, scope, "Dora drinks green tea in the morning.")
        home = remember(client, scope, "Dora lives in Lisbon.")
        assert home["index"]["state"] == "pending"
        eventually(lambda: is_indexed(client, scope, home["id"]))
        assert recalled(client, scope, "In which city is her flat?")[0] == "Dora lives in Lisbon."

        new = correct(client, scope, home["id"], "Dora lives in Porto.").json()
        assert recalled(client, scope, "Where does Dora live?")[0] == "Dora lives in Porto."
        assert "Dora lives in Lisbon." not in recalled(client, scope, "Where does Dora live?")
        old = get(client, scope, home["id"]).json()
        assert (old["status"], old["superseded_by"]) == ("superseded", new["id"])

        receipt = forget(client, scope, new["id"])
        left = recalled(client, scope, "Where does Dora live?")
        assert left == ["Dora drinks green tea in the morning."]
        assert get(client, scope, new["id"]).status_code == 404
        assert get(client, scope, home["id"]).status_code == 404
        assert get(client, scope, tea["id"]).status_code == 200

        where = f"/v1/erasures/{receipt['id']}"

        def settled():
            found = client.get(where, params={"scope": scope}).json()
            return found if found["state"] == "complete" else None

        complete = eventually(settled)
        states = {store["store"]: store["state"] for store in complete["stores"]}
        gone = ("ledger", "document", "index", "intake", "transfers")
        assert states == {**dict.fromkeys(gone, "absent"), "backup": "retained"}
        assert complete["erased"] == 2
        assert anchored_length(client, scope) == 4


def anchored_length(client, scope):
    """The length of a chain that holds, once its end is anchored."""

    def look():
        chain = client.get("/v1/audit/verify", params={"scope": scope}).json()
        assert (chain["ok"], chain["complete"]) == (True, True)
        return chain if chain["anchored"] and chain["anchored"]["seq"] == chain["length"] else None

    return eventually(look)["length"]


def test_another_scope_sees_none_of_it(stack: Stack):
    with stack.client() as client:
        mine = remember(client, "acme/users/eve", "Eve keeps bees behind the old mill.")
        assert recalled(client, "acme/users/eve", "Who keeps bees?")
        assert recalled(client, "acme/users/eve-2", "Who keeps bees?") == []
        assert get(client, "acme/users/eve-2", mine["id"]).status_code == 404


def test_a_forgotten_value_is_not_learned_again_but_its_neighbour_is(stack: Stack):
    scope = "acme/users/finn"
    with stack.client() as client:
        secret = remember(client, scope, "Finn is allergic to nuts.")
        forget(client, scope, secret["id"])
        again = client.post("/v1/memories", json={"scope": scope, "content": "FINN is  allergic to nuts"})
        assert (again.status_code, again.json()["code"]) == (409, "tombstoned")
        assert "nuts" not in again.text
        assert remember(client, scope, "Finn is allergic to dust.")


def test_what_was_written_is_found_while_the_index_lags(stack: Stack, faults):
    scope = "acme/users/gus"
    faults(kb_lag_seconds=60)
    with stack.client() as client:
        written = remember(client, scope, "Gus plays the cello on Sundays.")
        assert recalled(client, scope, "What does Gus play?") == ["Gus plays the cello on Sundays."]
        assert not is_indexed(client, scope, written["id"])


def test_what_was_forgotten_is_not_recalled_though_the_index_still_holds_it(stack: Stack, faults):
    scope = "acme/users/hana"
    with stack.client() as client:
        piano = remember(client, scope, "Hana tunes pianos for a living.")
        neighbour = remember(client, scope, "Hana also repairs organs.")
        for memory in (piano, neighbour):
            eventually(lambda memory=memory: is_indexed(client, scope, memory["id"]))
        faults(kb_drop_deletes=True)
        receipt = forget(client, scope, piano["id"])
        assert recalled(client, scope, "What does Hana do for a living?") == ["Hana also repairs organs."]
        found = client.get(f"/v1/erasures/{receipt['id']}", params={"scope": scope}).json()
        assert found["state"] == "pending"
        held = stack.aws("bedrock-agent").get_knowledge_base_documents(
            **stack.knowledge_base,
            documentIdentifiers=[{"dataSourceType": "CUSTOM", "custom": {"id": piano["id"]}}],
        )["documentDetails"]
        assert held[0]["status"] != "NOT_FOUND"


def test_a_knowledge_base_that_ignores_its_filter_shows_nobody_elses_memory(stack: Stack, faults):
    with stack.client() as client:
        other = remember(client, "acme/users/ida", "Ida hides the key under the third stone.")
        own = remember(client, "acme/users/jon", "Jon hides nothing.")
        for scope, memory in (("acme/users/ida", other), ("acme/users/jon", own)):
            eventually(lambda scope=scope, memory=memory: is_indexed(client, scope, memory["id"]))
        faults(kb_ignore_filters=True)
        assert recalled(client, "acme/users/jon", "Where is the key under the stone?") in (
            ["Jon hides nothing."],
            [],
        )
        assert recalled(client, "acme/users/ida", "Where is the key?") == [other["content"]]


def test_a_slow_knowledge_base_costs_the_deadline_and_not_the_answer(stack: Stack, faults):
    scope = "acme/users/kim"
    with stack.client() as client:
        memory = remember(client, scope, "Kim sails a red boat.")
        eventually(lambda: is_indexed(client, scope, memory["id"]))
        faults(delay_seconds={"bedrock-agent-runtime.Retrieve": 30})
        answer = client.post(
            "/v1/recall", json={"scope": scope, "query": "Who sails a boat?", "deadline_ms": 800}
        ).json()
        assert answer["degraded"]
        assert answer["reasons"] == ["knowledge_base_timeout"]
        assert [item["memory"]["content"] for item in answer["items"]] == ["Kim sails a red boat."]
        assert answer["took_ms"] < 2_000


def test_without_sts_there_is_no_wider_credential_but_a_503(stack: Stack, faults):
    with stack.client() as client:
        remember(client, "acme/users/lea", "Lea is warm.")
        faults(down=["sts"])
        cold = client.get("/v1/memories", params={"scope": "acme/users/never-opened"})
        assert (cold.status_code, cold.json()["code"]) == (503, "unavailable")
        assert cold.headers["Retry-After"]
        stack.no_faults()
        assert client.get("/v1/memories", params={"scope": "acme/users/never-opened"}).status_code == 200


def test_the_gateway_answers_the_unknown(stack: Stack):
    with stack.client("unsay_nobody_nothing") as stranger:
        assert stranger.get("/v1/memories", params={"scope": "a"}).status_code == 403
    with stack.client() as client:
        del client.headers["Authorization"]
        assert client.get("/v1/memories", params={"scope": "a"}).status_code == 401
        assert client.get("/v1/health").json()["status"] == "ok"


def test_a_key_reaches_what_it_was_given_and_nothing_else(stack: Stack):
    with stack.client() as admin:
        grants = [{"scope": "acme/agents/mia", "actions": ["read", "write"]}]
        made = admin.post("/v1/keys", json={"name": "mia", "kind": "agent", "grants": grants}).json()
        remember(admin, "acme/agents/ned", "Ned's plan is a secret.")
    with stack.client(made["secret"]) as agent:
        assert remember(agent, "acme/agents/mia", "Mia's plan is hers.")
        refused = agent.post("/v1/recall", json={"scope": "acme/agents/ned", "query": "plan"})
        unknown = agent.post("/v1/recall", json={"scope": "acme/agents/nobody", "query": "plan"})
        assert refused.status_code == unknown.status_code == 403
        assert {**refused.json(), "request_id": ""} == {**unknown.json(), "request_id": ""}
        assert (
            agent.delete(
                "/v1/memories/mem_00000000000000000000000000",
                params={"scope": "acme/agents/mia", "reason": "test"},
            ).status_code
            == 403
        )
        wider = [{"scope": "acme/*", "actions": ["read"]}]
        assert agent.post("/v1/keys", json={"name": "x", "kind": "agent", "grants": wider}).status_code == 403


def test_numbers_and_words_of_any_script_come_back_as_they_went(stack: Stack):
    scope = "acme/ünï/用户/a%2Fb"
    body = (
        '{"scope": "acme/ünï/用户/a%2Fb", "content": "彼女は緑茶が好き 🍵", '
        '"data": {"one": 1, "float": 1.0, "long": 12345678901234567890123456789012345678, "t": true}}'
    )
    with stack.client() as client:
        written = client.post("/v1/memories", content=body.encode())
        assert written.status_code == 201, written.text
        assert written.json()["scope"] == scope
        again = get(client, scope, written.json()["id"])
        for answer in (written, again):
            assert '"one":1,"float":1.0,"long":12345678901234567890123456789012345678,"t":true' in answer.text
            assert answer.json()["content"] == "彼女は緑茶が好き 🍵"
        assert recalled(client, scope, "緑茶") == ["彼女は緑茶が好き 🍵"]
