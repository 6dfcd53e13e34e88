"""A loop of your own: what is remembered goes into the prompt, what is said goes to the service."""

import unsay

SCOPE = "acme/users/alice"


def model(messages: list[dict]) -> str:
    """Stands for a call of your model, which looks at what is remembered."""
    return "Sencha, as always?" if "<memory " in messages[-1]["content"] else "Noted."


def main() -> None:
    with unsay.connect("memory://") as memory:
        injector = unsay.Injector(memory, SCOPE, max_entries=3, deadline_seconds=10.0)
        messages: list[dict] = []
        for seq, said in enumerate(["I always drink sencha.", "Some tea, please: which do I drink?"]):
            messages.append({"role": "user", "content": said})
            remembered = injector.inject(messages)
            prompt = [*messages[:-1], {"role": "user", "content": f"{said}\n\n{remembered or ''}"}]
            answer = model(prompt)
            print(f"user: {said}\nassistant: {answer}")
            messages.append({"role": "assistant", "content": answer})
            memory.converse(
                "chat-1", [{"seq": 2 * seq, "role": "user", "content": said}], scope=SCOPE, flush=True
            )
        print(f"injected: {injector.counts.injected}")


if __name__ == "__main__":
    main()
