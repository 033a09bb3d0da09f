"""Sends a GET and a POST of JSON with one HTTP client. Usage: clients.py NAME URL; NAME alone prints its version."""
import asyncio, importlib.metadata, sys

name = sys.argv[1]
if len(sys.argv) == 2:
    print(importlib.metadata.version(name))
    sys.exit()
url, key, body = sys.argv[2], {"Authorization": "Bearer TOKEN"}, {"a": 1}

if name == "requests":
    import requests
    with requests.Session() as s:
        s.get(url, headers=key)
        s.post(url, json=body, headers=key)
elif name == "httpx":
    import httpx
    with httpx.Client() as c:
        c.get(url, headers=key)
        c.post(url, json=body, headers=key)
elif name == "urllib3":
    import urllib3
    with urllib3.PoolManager() as p:
        p.request("GET", url, headers=key)
        p.request("POST", url, json=body, headers=key)
elif name == "aiohttp":
    import aiohttp
    async def run():
        async with aiohttp.ClientSession(headers=key) as s:
            await (await s.get(url)).read()
            await (await s.post(url, json=body)).read()
    asyncio.run(run())
