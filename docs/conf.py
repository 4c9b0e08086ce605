"""The documentation site: `make docs` builds it, and a warning is an error.

Pages are Markdown that reads on a forge too: what belongs to the site alone, its tree and the pages of the root, is in
`_ext/tree.py`.
"""

import os
import sys
from pathlib import Path

# Examples draw without a screen, and products of small matrices are fastest on one core.
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

import kernelstream  # noqa: E402

project = "kernelstream"
author = "The kernelstream developers"
copyright = author
release = version = kernelstream.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "mathml",
    "tree",
]
exclude_patterns = ["_build", "_ext", "_templates", "examples", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
nitpicky = True

# Markdown: formulas between dollars, links to headings as a forge makes them.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
myst_update_mathjax = False
html_math_renderer = "mathml"

# Docstrings say what types are, in words.
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autosummary_imported_members = True
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "subsection_order": ["examples/first", "examples/inside", "examples/streams"],
    "within_subsection_order": "FileNameSortKey",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(__init__|data|style)\.py",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("kernelstream",),
    "prefer_full_module": [r"kernelstream\.river"],
    "abort_on_example_error": False,
    "image_srcset": ["2x"],
    "reset_modules": ("tree.drawing",),
    "reset_modules_order": "before",
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "capture_repr": (),
    "log_level": {"backreference_missing": "debug"},
}

html_theme = "pydata_sphinx_theme"
html_title = "kernelstream"
html_favicon = "_static/mark.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "start": [], "choosing": []}
html_theme_options = {
    "logo": {"text": "kernelstream", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "primary_sidebar_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
}
html_context = {"default_mode": "auto"}
html_last_updated_fmt = None
