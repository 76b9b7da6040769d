"""Pages that are made when the site is built: the reference by room, from the docstrings, which are Markdown."""

import ast
import importlib
import inspect
import os
import re
import shutil
import textwrap
from pathlib import Path

ROOMS = {  # of the package: a title, and where its names are listed
    "problem": ("Problems and measures", "_problem"),
    "places": ("Places: boxes, shapes, faces", "_places"),
    "laws": ("Laws: conditions, observations, unknowns", "_laws"),
    "samplers": ("Samplers", "samplers"),
    "nn": ("Models", "nn"),
    "methods": ("Methods", "_methods"),
    "spectral": ("Polynomials", "_spectral"),
    "run": ("Solving", "_run"),
    "result": ("Solutions and reports", "_result"),
    "zoo": ("The zoo of problems", "zoo"),
    "reference": ("Reference solutions", "reference"),
    "data": ("Data sets", "data"),
    "experiments": ("Experiments", "experiments"),
    "tracking": ("Trackers", "tracking"),
}
OWN = {"samplers", "nn", "zoo", "reference", "data", "experiments", "tracking"}  # rooms with a door of their own


PICTURES = Path(__file__).parent / "_build" / "pictures"


class Drawn:
    """An example gets no argument but the path of its picture, so that building the site leaves the sources alone."""

    def __call__(self, sphinx_gallery_conf, script_vars):
        PICTURES.mkdir(parents=True, exist_ok=True)
        source = Path(script_vars["src_file"])
        # Relative, since examples print where they drew to.
        return [os.path.relpath(PICTURES / f"{source.stem}.png", source.parent)]

    def __repr__(self):
        return "Drawn()"


class Pictures:
    """The picture that an example has drawn goes to its page: figures of `solution.plot` are unknown to pyplot."""

    def __call__(self, block, block_vars, gallery_conf):
        import matplotlib.pyplot as plt
        from sphinx_gallery.scrapers import figure_rst

        plt.close("all")
        drawn = PICTURES / f"{Path(block_vars['src_file']).stem}.png"
        if not drawn.exists():
            return ""
        target = next(block_vars["image_path_iterator"])
        shutil.move(drawn, target)
        return figure_rst([target], gallery_conf["src_dir"])

    def __repr__(self):
        return "Pictures()"


def typeset(app):
    """Formulas as MathML, which a browser draws by itself: pages need no network and no script."""
    from docutils.nodes import SkipNode
    from docutils.utils.math.latex2mathml import tex2mathml

    def written(part):
        def visit(self, node):
            display = part == "div"
            # Spaces at an end of a line are no part of a formula.
            markup = tex2mathml(node.astext().strip(), as_block=display)
            self.body += [self.starttag(node, part, "", CLASS="formula"), markup, f"</{part}>"]
            raise SkipNode

        return visit, None

    app.add_html_math_renderer("mathml", written("span"), written("div"))


def write(docs):
    """Writes the pages of the reference."""
    folder = docs / "api"
    folder.mkdir(exist_ok=True)
    rooms = {key: names for key in ROOMS if (names := list(_names(key)))}
    lines = ["# Reference", "", "Every public name, by the room it lives in.", ""]
    lines += ["```{toctree}", ":maxdepth: 2", "", *rooms, "```", ""]
    _replace(folder / "index.md", "\n".join(lines))
    for key, names in rooms.items():
        parts = [f"# {ROOMS[key][0]}", ""]
        for path, thing in names:
            parts += _entry(path, thing)
        _replace(folder / f"{key}.md", "\n".join(parts) + "\n")


def names():
    """All public names with the things that they name."""
    return {path: thing for key in ROOMS for path, thing in _names(key)}


def lacking():
    """Public names that are called, and whose docstring has no example."""
    return [path for path, thing in names().items() if callable(thing) and "!!! example" not in (thing.__doc__ or "")]


def _foreign(thing):
    home = getattr(thing, "__module__", "sclax")
    return not home.startswith("sclax") or home.startswith("sclax._base")


def _names(key):
    package = ROOMS[key][1]
    if key in OWN:
        try:
            module = importlib.import_module(f"sclax.{package}")
        except ModuleNotFoundError:
            return
        for name in sorted(n for n in dir(module) if not n.startswith("_")):
            thing = getattr(module, name)
            # What a module of one file imports is not its own.
            if not inspect.ismodule(thing) and not _foreign(thing):
                yield f"scl.{package}.{name}", thing
        return
    import sclax

    stub = Path(sclax.__file__).with_suffix(".pyi").read_text()
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom) and node.module == package:
            for alias in node.names:
                yield f"scl.{alias.name}", getattr(sclax, alias.name)


def _entry(path, thing):
    """A heading, the signature and the docstring; of a class its public methods too."""
    lines = [f"## `{path}`", ""]
    if callable(thing):
        lines += ["```python", _signature(path.rpartition(".")[2], thing), "```", ""]
        lines += _text(inspect.getdoc(thing))
    else:
        lines += [f"A value of type `{type(thing).__name__}`.", ""]
    if inspect.isclass(thing):
        bases = [base.__name__ for base in thing.__mro__[1:] if base.__name__.startswith("Abstract")]
        if bases:
            lines += [f"Is an `{bases[0]}`, and has what that has.", ""]
        for name in vars(thing):
            # Methods of modules are wrapped. What overrides without words of its own is told once, of the class above.
            if name.startswith("_") or not getattr(member := getattr(thing, name, None), "__doc__", None):
                continue
            if inspect.isfunction(member):
                lines += [f"### `{thing.__name__}.{name}`", "", "```python", _signature(name, member), "```", ""]
            elif isinstance(member, property):
                lines += [f"### `{thing.__name__}.{name}`", ""]
            else:
                continue
            lines += _text(inspect.getdoc(member))
    return lines


def _signature(name, thing):
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return f"{name}(...)"
    text = re.sub(r"<([\w.]+) object at 0x[0-9a-f]+>", r"\1(...)", text).replace("<factory>", "...")
    text = re.sub(r"\(self, |\(self\)", lambda found: "(" if "," in found.group() else "()", text)
    text = re.sub(r"(?:jaxtyping|typing|collections\.abc|sclax(?:\.\w+)+)\.", "", text.replace("'", ""))
    line = f"{name}{text}"
    if len(line) <= 100:
        return line
    return "\n".join(textwrap.wrap(line, 100, subsequent_indent="    ", break_long_words=False))


def _text(docstring):
    """A docstring as MyST: its examples as admonitions, its indented formulas as they are."""
    if not docstring:
        return []
    out, lines, i = [], docstring.splitlines(), 0
    while i < len(lines):
        if lines[i].startswith("!!! "):
            kind, block = lines[i][4:].strip(), []
            i += 1
            while i < len(lines) and (not lines[i].strip() or lines[i].startswith("    ")):
                block.append(lines[i][4:])
                i += 1
            out += [f":::{{admonition}} {kind.capitalize()}", *block, ":::", ""]
            continue
        out.append(lines[i])
        i += 1
    return [*out, ""]


def _replace(path, text):
    """Writes a page that has changed; the others keep their time, so that nothing is built again for nothing."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
