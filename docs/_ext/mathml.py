"""Formulas as MathML, which browsers draw themselves: no script, no picture, nothing from elsewhere."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOG = logging.getLogger(__name__)
# A prime belongs to what stands before it, with no room between.
PRIME = '<mo lspace="0" rspace="0">\N{PRIME}</mo>'


def _formula(node: nodes.Element, *, as_block: bool) -> str:
    try:
        return str(tex2mathml(node.astext(), as_block=as_block)).replace("<mo>'</mo>", PRIME)
    except MathError as error:
        LOG.warning("the formula %r cannot be drawn: %s", node.astext(), error, location=node)
        return ""


def draw_inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(_formula(node, as_block=False))
    raise nodes.SkipNode


def draw_block(translator: Any, node: nodes.Element) -> None:
    translator.body.append(f'<div class="formula">{_formula(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (draw_inline, None), (draw_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
