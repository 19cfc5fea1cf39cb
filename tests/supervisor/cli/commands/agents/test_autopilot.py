import json

from tests.stages.daemon import Base, served
from tests.supervisor.cli.conftest import chaperon


async def test_agents_are_left_alone_and_a_person_comes_back(base: Base) -> None:
    async with served(base):
        assert (await chaperon("autopilot")).output.startswith("There is no autopilot.")
        begun = (await chaperon("autopilot", "--for", "8h", "--max-cost", "20", "--reason", "night")).output
        assert ": night." in begun
        assert "Spent in it: $0.00 of $20.00. To end it: chaperon autopilot --off" in begun
        assert "Autopilot until " in (await chaperon("ps")).output
        state = json.loads((await chaperon("autopilot", "--json")).output)
        assert (state["on"], state["max_cost_usd"]) == (True, 20.0)
        assert (await chaperon("autopilot", "--until", "07:00")).exit_code == 2
        off = (await chaperon("autopilot", "--off")).output
        assert off.startswith("The last autopilot is over: a person ended it. It cost $0.00.")
        assert "Its report: " in off
        assert "Autopilot" not in (await chaperon("ps")).output


async def test_options_that_do_not_go_together_are_refused(base: Base) -> None:
    async with served(base):
        for wrong in (("--for", "8h", "--until", "07:00"), ("--off", "--max-cost", "2"), ("--max-cost", "nan")):
            assert (await chaperon("autopilot", *wrong)).exit_code == 2
