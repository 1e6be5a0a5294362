"""Two asyncio tasks; each awaits, and one of them is stepped through."""

import asyncio


async def fetch(name, answer):
    await asyncio.sleep(0)
    value = answer * 2  # @task
    await asyncio.sleep(0)
    return name, value  # @resumed


async def main():
    pairs = await asyncio.gather(fetch("left", 1), fetch("right", 2))
    print(dict(pairs))  # @gathered


asyncio.run(main())
