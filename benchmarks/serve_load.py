"""Load for a service, from a process of its own: python -m benchmarks.serve_load PORT PATH TYPE CLIENTS SECONDS < BODY.

Raw sockets; each client asks again when it is answered. Prints JSON: requests, seconds, milliseconds of each request.
"""

import asyncio
import json
import sys
import time


async def client(port: int, request: bytes, end: float, times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**26)
    while (began := time.perf_counter()) < end:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"the service said {head[:200]!r}")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(1e3 * (time.perf_counter() - began))
    writer.close()


async def main(port: str, path: str, type_: str, clients: str, seconds: str) -> None:
    body = sys.stdin.buffer.read()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {type_}\r\nContent-Length: {len(body)}\r\n\r\n"
    times: list[float] = []
    began = time.perf_counter()
    end = began + float(seconds)
    await asyncio.gather(*(client(int(port), head.encode() + body, end, times) for _ in range(int(clients))))
    print(json.dumps({"n": len(times), "seconds": time.perf_counter() - began, "times": sorted(times)}))


if __name__ == "__main__":
    import uvloop

    uvloop.run(main(*sys.argv[1:]))
