"""What mkdocs does not do by itself: the README as the first page, notebooks as pages, links that leave docs/, and the
reference of the public names, written from their docstrings and their settings. `make docs` calls it.
"""

import base64
import json
import posixpath
import re
import sys
from pathlib import Path

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))
from reference import entry

ROOT = Path(__file__).parents[1]
# Beside docs/, what pages link to: tables and pictures of results, programs, and the pages of the repository itself.
OTHERS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "examples/*.py", "src/**/*.py")
OTHERS += tuple(f"results/**/*.{ending}" for ending in ("md", "png", "json"))
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")
API = re.compile(r"^<!-- reference: (\w+) -->$", re.M)


def on_files(files, config):
    for path in sorted({path for pattern in OTHERS for path in ROOT.glob(pattern)}):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".md":
            files.append(File.generated(config, name, content=path.read_text()))
        else:
            files.append(File.generated(config, name, abs_src_path=str(path)))
    for path in sorted(ROOT.glob("docs/tutorials/*.ipynb")):
        files.remove(files.get_file_from_path(f"tutorials/{path.name}"))
        text, pictures = notebook(path)
        files.append(File.generated(config, f"tutorials/{path.stem}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"tutorials/{name}", content=content))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links are those of the repository, so that they work there too: here docs/ is left out of them."""
    home = page.file.src_uri
    place = posixpath.dirname(f"docs/{home}" if in_docs(home) else home)

    def here(found):
        target = posixpath.normpath(posixpath.join(place, found[1])).removeprefix("docs/")
        target = re.sub(r"^(tutorials/.*)\.ipynb$", r"\1.md", target)
        return posixpath.relpath(target, posixpath.dirname(home) or ".")

    return API.sub(lambda found: entry(found[1]), LINK.sub(here, markdown))


def in_docs(name):
    return (ROOT / "docs" / name).exists() or name.startswith("tutorials/")


def notebook(path):
    """A notebook as Markdown, and its pictures by name: what was said, done, printed and drawn, as it was kept."""
    parts, pictures = [], {}
    for cell in json.loads(path.read_text())["cells"]:
        source, outputs = "".join(cell["source"]), cell.get("outputs", [])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        if text := "".join(line for output in outputs for line in output.get("text", [])):
            parts.append(f"```text\n{text.rstrip()}\n```")
        for data in (output["data"] for output in outputs if "image/png" in output.get("data", {})):
            name = f"{path.stem}-{len(pictures) + 1}.png"
            pictures[name] = base64.b64decode(data["image/png"])
            parts.append(f"![What the cell above draws]({name})")
    return "\n\n".join(parts) + "\n", pictures
