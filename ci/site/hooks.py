"""What MkDocs calls: the pages are the documents where they are, and those that are made here.

Loaded by `mkdocs.yaml`; nothing else imports it, for MkDocs is installed by `make docs` alone.
"""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from fencepost.ci.site.documents import ROOT, documents, pictures
from fencepost.ci.site.made_pages import made_pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The theme's own files, the documents, what they show, and what is made of the project."""
    for path in (*documents(), *pictures()):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    for name, text in made_pages():
        files.append(File.generated(config, name, content=text))
    return files
