"""The page, its script and style, and the description of the interface; nothing comes from elsewhere."""

from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles

_PAGE = Path(str(files(__package__) / "page"))
_DOCS = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>kernelstream: interface</title><link rel="icon" href="/page/icon.svg">
<link rel="stylesheet" href="/docs/files/swagger-ui.css"></head>
<body><div id="swagger-ui"></div><script src="/docs/files/swagger-ui-bundle.js"></script>
<script src="/page/docs.js"></script></body></html>
"""
# Swagger's own page sets styles of single elements.
_DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def add(app: FastAPI) -> None:
    """Serve them."""
    from swagger_ui_bundle import swagger_ui_path

    app.mount("/page", StaticFiles(directory=_PAGE), name="page")
    app.mount("/docs/files", StaticFiles(directory=swagger_ui_path), name="docs files")

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(_PAGE / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(_DOCS, headers={"Content-Security-Policy": _DOCS_POLICY})
