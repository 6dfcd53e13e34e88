"""Eight writers at once lose nothing, and an update of what has moved on since is refused."""

from concurrent.futures import ThreadPoolExecutor

import unsay

SCOPE = "acme/teams/kitchen"


def main() -> None:
    with unsay.connect("memory://") as memory:
        with ThreadPoolExecutor(8) as writers:
            made = list(
                writers.map(lambda n: memory.remember(f"Writer {n} was here.", scope=SCOPE), range(8))
            )
        print(f"kept: {len({each.id for each in made})} of 8")

        mine = yours = memory.remember("The oven is at 180 degrees.", scope=SCOPE)
        memory.correct(mine, "The oven is at 200 degrees.", because="changed")
        try:
            memory.edit(yours, importance=1)
        except (unsay.VersionConflictError, unsay.WrongStatusError) as refused:
            print(f"too late: {refused.code}")
        print(f"audit chain: {'whole' if memory.verify_audit(scope=SCOPE).ok else 'torn'}")


if __name__ == "__main__":
    main()
