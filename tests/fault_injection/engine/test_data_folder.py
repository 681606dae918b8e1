"""What is done to a data folder while its broker is down."""

from pathlib import Path
from random import Random

import pytest

from fencepost.fault_injection.engine import data_folder
from fencepost.fault_injection.injectors.injector import InjectionError

LOG = "t-0/00000000000000000000.log"


def folder_with(tmp_path: Path, record: str, **files: bytes) -> Path:
    book = tmp_path / ".fault-control"
    book.mkdir(parents=True)
    (book / "synced").write_text(record)
    for name, content in files.items():
        (tmp_path / f"{name}-0").mkdir()
        (tmp_path / f"{name}-0" / Path(LOG).name).write_bytes(content)
    return tmp_path


def test_of_each_file_the_last_line_counts_and_the_rest_is_its_tail(tmp_path: Path) -> None:
    record = f"0\t{LOG}\n9\tgone-0/x.log\n5\t{LOG}\n4\t{LOG.replace('t-', 'u-')}\n"
    folder = folder_with(tmp_path, record, t=b"0123456789", u=b"0123")
    (tail,) = data_folder.tails(folder)
    data_folder.cut([tail])

    assert (tail.path, tail.synced, tail.lost) == (folder / LOG, 5, 5)
    assert (folder / LOG).read_bytes() == b"01234"
    assert data_folder.tails(folder) == []


def test_a_tail_is_spoilt_and_nothing_else(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, f"5\t{LOG}\n", t=b"0123456789")
    (position,) = data_folder.corrupt(data_folder.tails(folder), Random(7))
    spoilt = (folder / LOG).read_bytes()

    assert 5 <= position < 10
    assert [at for at in range(10) if spoilt[at] != b"0123456789"[at]] == [position]


def test_a_broker_without_a_record_does_not_support_it(tmp_path: Path) -> None:
    with pytest.raises(InjectionError, match="does not support this fault: it keeps no record"):
        data_folder.tails(tmp_path)


def test_a_record_that_names_what_is_not_the_brokers_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "other.log"
    outside.write_bytes(b"0123")
    (tmp_path / "data").mkdir()
    folder = folder_with(tmp_path / "data", "0\t../other.log\n")

    with pytest.raises(InjectionError, match=r"the broker's record names \.\./other\.log, which"):
        data_folder.wipe_records(folder)
    assert outside.read_bytes() == b"0123"


def test_a_link_is_wiped_and_not_what_it_leads_to(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    folder = folder_with(tmp_path / "data", "", t=b"01234")
    (folder / "link").symlink_to(outside)
    gone = data_folder.wipe_all(folder)

    assert gone == data_folder.Gone(files=1, size=5)
    assert list(folder.iterdir()) == []
    assert (outside / "kept").read_text() == "x"


def test_older_files_are_put_back_where_they_say_something_else(tmp_path: Path) -> None:
    older = tmp_path / ".fault-control" / "older"
    for folder, content in (("t-0", "old"), ("u-0", "same"), ("deleted-0", "old")):
        (older / folder).mkdir(parents=True)
        (older / folder / "checkpoint").write_text(content)
    for folder, content in (("t-0", "new"), ("u-0", "same")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "checkpoint").write_text(content)

    assert data_folder.put_older_back(tmp_path) == [tmp_path / "t-0" / "checkpoint"]
    assert (tmp_path / "t-0" / "checkpoint").read_text() == "old"
    assert data_folder.put_older_back(tmp_path) == [], "once is enough"
