"""A whole agent loop: stubs for the prompt, inputs, checks before a run, repair after an error.

The model here is a script, so that the example runs anywhere. Replace `scripted_model` by a call of
your model: it gets the conversation and returns the next piece of code.

    python examples/agent_loop.py
"""

import asyncio
from decimal import Decimal

from caps import MemoryAuditLog, Runtime, builtin_registry

registry = builtin_registry()


class NoSuchCustomer(LookupError):
    """Declared below, so its text reaches the code."""


@registry.capability("customers.credit", raises=(NoSuchCustomer,), shown=("name",))
async def credit(name: str) -> Decimal:
    """The credit of a customer."""
    known = {"ada": Decimal("12.50"), "bob": Decimal("7.25")}
    if name not in known:
        raise NoSuchCustomer(f"no customer `{name}`; there are {', '.join(known)}")
    return known[name]


ALLOWED = ["customers.*", "artifacts.save"]
POLICY = {"id": "support", "allow": ALLOWED, "limits": {"wall_ms": 5000, "calls": 50}}
TASK = "Save the credit of all customers in `rows` as a CSV file, and return the sum."

# What a model might write: a wrong argument, then an error at run time, then the solution.
SCRIPT = [
    "total = await caps.customers.credit(nam=rows[0]['name'])",
    "credits = [await caps.customers.credit(row['name']) for row in rows]\nsum(credits)",
    """
credits = {}
for row in rows:
    try:
        credits[row["name"]] = await caps.customers.credit(row["name"])
    except ProviderError as error:
        print("left out:", error.error, row["name"])
await caps.artifacts.save("credits.csv", "\\n".join(f"{n},{c}" for n, c in credits.items()))
return sum(credits.values())
""",
]


def scripted_model(conversation: list[str]) -> str:
    """The next answer of the script; a real model would read the conversation."""
    assert conversation
    return SCRIPT.pop(0)


async def main() -> Decimal:
    rows = [{"name": "ada"}, {"name": "bob"}, {"name": "eve"}]
    audit = MemoryAuditLog()
    async with Runtime(POLICY, registry=registry, audit=audit) as runtime:
        conversation = [f"You write Python.\n{runtime.stubs()}", TASK]
        async with runtime.session(principal="ada", agent="adder") as session:
            for _ in range(5):
                code = scripted_model(conversation)
                result = await session.run(code, inputs={"rows": rows}, check=True)
                told = result.for_model()
                print(f"--- the model wrote\n{code.strip()}\n--- it is told\n{told}\n")
                if result.ok:
                    total: Decimal = result.value
                    print(f"=> {total}, after {len(audit.events)} records of evidence")
                    for artifact in result.artifacts:  # write them, show them, attach them
                        print(f"=> {artifact.name}: {artifact.content.decode()!r}")
                    return total
                conversation += [code, told]
    raise SystemExit("the model found no solution")


if __name__ == "__main__":
    asyncio.run(main())
