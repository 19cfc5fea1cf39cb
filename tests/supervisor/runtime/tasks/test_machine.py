from pathlib import Path

from supervisor.runtime.tasks.machine import machine_facts


def test_the_facts_of_this_machine_are_numbers_even_for_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    facts = machine_facts((tmp_path, tmp_path / "not" / "there"), 12.5)
    assert facts.free_memory_mb > 0
    assert facts.free_disk_mb > 0
    assert facts.load_per_core >= 0
    assert facts.now == 12.5
    assert facts.disk.startswith(str(tmp_path))
