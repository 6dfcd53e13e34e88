"""A LangGraph graph whose nodes keep and find notes in one scope."""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

import unsay
from unsay.langgraph import UnsayStore

NOTES = ("notes",)


class State(TypedDict):
    said: str
    answer: str


def keep(state: State, *, store: BaseStore) -> dict:
    if not state["said"].endswith("?"):
        store.put(NOTES, str(len(store.search(NOTES, limit=100))), {"text": state["said"]})
    return {}


def reply(state: State, *, store: BaseStore) -> dict:
    best = store.search(NOTES, query=state["said"], limit=1)
    return {"answer": best[0].value["text"] if best else "I know nothing of that."}


def main() -> None:
    with unsay.connect("memory://") as memory:
        graph = StateGraph(State)
        graph.add_node("keep", keep)
        graph.add_node("reply", reply)
        graph.add_edge(START, "keep")
        graph.add_edge("keep", "reply")
        graph.add_edge("reply", END)
        store = UnsayStore(memory, scope="acme/users/alice", fields=["text"])
        app = graph.compile(store=store)
        for said in (
            "My train leaves from platform nine.",
            "My cat is called Tofu.",
            "What is my cat called?",
        ):
            print(f"{said} -> {app.invoke({'said': said, 'answer': ''})['answer']}")
        store.delete(NOTES, "1")
        print(f"receipts: {len(memory.erasures(scope='acme/users/alice').items)}")


if __name__ == "__main__":
    main()
