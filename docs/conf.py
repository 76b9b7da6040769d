"""The site:  python -m sphinx -W -b html docs docs/_build  (extra `docs`)."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import _pages  # noqa: E402 -- these lie beside this file
import _results  # noqa: E402

import sclax  # noqa: E402

project, author = "sclax", "The sclax developers"
version = release = sclax.__version__
copyright = author

extensions = ["myst_parser", "sphinx_design", "sphinx_gallery.gen_gallery"]
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
myst_update_mathjax = False
html_math_renderer = "mathml"  # of `_pages.typeset`
exclude_patterns = ["_build", "_tables", "gallery/*.ipynb", "gallery/sg_execution_times.rst", "sg_execution_times.rst"]
suppress_warnings = ["config.cache"]  # of gallery settings that are objects

html_theme = "pydata_sphinx_theme"
html_title = "sclax"
html_static_path = ["_static"]
html_css_files = ["sclax.css"]
html_extra_path = ["llms.txt"]
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
}
html_sidebars = {"start": [], "theory": [], "deepxde": [], "faq": [], "results": [], "changelog": [], "cite": []}

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"(__init__|output)",
    "within_subsection_order": "ExampleTitleSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "reset_argv": _pages.Drawn(),
    "image_scrapers": (_pages.Pictures(),),
}

linkcheck_ignore = [r"https?://localhost.*"]


def setup(app):
    _pages.typeset(app)
    app.connect("builder-inited", lambda app: (_pages.write(HERE), _results.write(HERE)))
