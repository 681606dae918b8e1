"""Faults on the clocks of the simulated world; `deeds.py` has all the others."""

from fencepost.fault_injection.faults.clock_faults import DriftClock, JumpClock, StrobeClock
from fencepost.impl.sim.engine.clock import TRUE_RATE
from fencepost.impl.sim.injectors.awaited import Heal
from fencepost.impl.sim.world.process import Process
from fencepost.impl.trace_lines import Line


def meddle_with_clock(fault: DriftClock | JumpClock | StrobeClock, process: Process) -> Heal:
    """The clock of the process is wrong from now on; a later process has another one."""
    before_ms = _ahead_ms(process)
    told: Line = {}
    is_over = [False]

    def jump_again() -> None:
        if is_over[0] or not isinstance(fault, StrobeClock):
            return
        told["matched"] = told.get("matched", 0) + 1
        process.clock.jump(fault.by_ms)
        process.cluster.scheduler.after_ms(fault.every_ms, jump_again)

    match fault:
        case JumpClock():
            process.clock.jump(fault.by_ms)
        case DriftClock():
            process.clock.run_at(fault.rate)
        case StrobeClock():
            jump_again()

    def heal() -> Line:
        is_over[0] = True
        process.clock.run_at(TRUE_RATE)
        return {**told, "ahead_ms": _ahead_ms(process) - before_ms}

    return heal


def _ahead_ms(process: Process) -> int:
    return process.clock.now_ms - process.cluster.scheduler.now_ms
