"""The layers of the package: a module imports what stands below it, and no two modules need each other."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import kernelstream
from kernelstream.numerics.compile import SOURCES, is_source

PACKAGE = Path(kernelstream.__file__).parent

# From the bottom up. A room, or a module of the package itself, imports rooms of the lines above its own, never one
# beside it. "kernelstream" is what a user finds in the package itself.
LAYERS = (
    ("extras", "forms", "numerics", "teaching"),
    ("parameters", "tasks"),
    ("kernels", "losses", "schedules"),
    ("encoding", "engine", "metrics", "reference"),
    ("algorithms",),
    ("learner", "sources"),
    ("estimators", "evaluate", "exports", "laws", "river"),
    ("kernelstream", "report"),
    ("client", "distributed", "papers", "serve"),
    ("cli",),
    ("__main__",),
)
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}


def modules():
    """Each module's file by its dotted name below the package, which is "" itself."""
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


MODULES = modules()


def imports(module, *, at_once=False):
    """The modules of the package that a module imports: all but those for annotations alone, or those that it cannot be
    imported without.
    """
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = set()
    waiting = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        elif isinstance(node, ast.ImportFrom):
            found.update(imported(node, package))
        elif isinstance(node, ast.Import):
            assert not any(alias.name.partition(".")[0] == "kernelstream" for alias in node.names), (
                f"{module}: {ast.unparse(node)}"
            )
        elif not (at_once and isinstance(node, ast.FunctionDef | ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
    return found - {module}


def imported(node, package):
    """The modules that `from ... import a, b` in a package means."""
    if node.level == 0:
        assert node.module.partition(".")[0] != "kernelstream", f"{package}: {ast.unparse(node)} is to be relative"
        return
    above = package.split(".") if package else []
    above = above[: len(above) - node.level + 1]
    base = ".".join(above + (node.module.split(".") if node.module else []))
    for alias in node.names:
        whole = f"{base}.{alias.name}".strip(".")
        yield whole if whole in MODULES else base


def room(module):
    return module.partition(".")[0] or "kernelstream"


def test_every_module_has_a_layer():
    assert {room(module) for module in MODULES} == set(HEIGHT)


def test_a_module_imports_what_stands_below_it():
    ups = {
        (module, other)
        for module in MODULES
        for other in imports(module)
        if room(module) != room(other) and HEIGHT[room(other)] >= HEIGHT[room(module)]
    }
    assert not ups, "they import what is not below them"


def test_no_modules_import_each_other_in_a_circle():
    graph = {module: imports(module, at_once=True) for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(error.args[1][::-1])) from None


def test_an_import_for_annotations_alone_does_not_count():
    assert "kernels" not in imports("numerics.gram")
    assert "from ..kernels import Kernel" in MODULES["numerics.gram"].read_text()


# What compiled code can come from, which is what the name of the cache is made from.

MAKERS = {
    "Pointer",
    "by_precision",
    "by_record",
    "compiled",
    "evaluate",
    "inlined",
    "lift",
    "outermost",
    "reduction",
    "step",
}


def makes_compiled_code(module):
    """Whether a module imports something that compiles, or a verb of the loop for which bodies are registered."""
    names = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            names |= {alias.name for alias in node.names}
    return bool(names & MAKERS) and MODULES[module].name != "__init__.py"


def outside():
    return {module for module, path in MODULES.items() if not is_source(path.relative_to(PACKAGE))}


def test_whatever_is_compiled_comes_from_a_file_that_the_cache_knows():
    assert not {module for module in outside() if makes_compiled_code(module)}


def test_what_compiled_code_comes_from_imports_nothing_that_the_cache_does_not_know():
    known = set(MODULES) - outside()
    assert not {(module, other) for module in known for other in imports(module) & outside()}


def test_everything_that_the_cache_knows_exists_and_most_of_what_people_edit_is_not_among_it():
    assert all((PACKAGE / source).exists() for source in SOURCES)
    rooms = {"cli", "estimators", "evaluate", "exports", "learner", "papers", "reference", "report"}
    assert rooms <= {room(module) for module in outside()}
    assert not rooms & {room(module) for module in set(MODULES) - outside()}
