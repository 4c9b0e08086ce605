"""The floor of a service: an empty FastAPI endpoint that parses a body and gives it back."""

import socket

import msgspec
import uvicorn
from fastapi import FastAPI, Request, Response

app = FastAPI()


@app.post("/echo")
async def echo(request: Request) -> Response:
    return Response(msgspec.json.encode(msgspec.json.decode(await request.body())), media_type="application/json")


if __name__ == "__main__":
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run([listening])
