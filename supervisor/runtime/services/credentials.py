"""The choice among several credentials: the first that is at none of its limits pays, for agents that run too.

One that met its usage limit is passed over until the limit's end, one whose budget of the day is used up until the day
is over, and one that cannot be had for a while. If all are at a limit, the one in force stays, and agents wait.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import anyio
import anyio.to_thread

from monitors.contract.errors import ChaperonError
from monitors.contract.words import Severity
from supervisor.config.model import Agent, AgentCredential, Config
from supervisor.core.board import Board
from supervisor.core.fold.summary import DAY
from supervisor.core.registers.costs import DayLimits
from supervisor.protocol import events
from supervisor.runtime.assembly.settings import check_credential, day_limits
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.usage_turns import utc
from supervisor.runtime.gateway.account import account_of
from supervisor.runtime.services.budgets import LOOK_SECONDS, BudgetParts

UNUSABLE_SECONDS = 300.0
"""How long a credential that was refused or could not be had is passed over: a keyring may be locked."""


class Credentials:
    """The credentials of a configuration, and which of them pays.

    Args:
        board: Spending, and usage limits that were met.
        config: The configuration.
        environ: The daemon's environment.
        clock: The time.
    """

    def __init__(self, board: Board, config: Config, environ: Mapping[str, str], clock: Clock) -> None:
        self._board, self._environ, self._clock = board, environ, clock
        self._unusable: dict[str, float] = {}
        """Until when a credential is passed over that did not serve, by the monotonic clock."""
        self._source = self._had = ""
        self._due: anyio.Event | None = None
        self.renew(config)

    def renew(self, config: Config) -> None:
        """Take another configuration, and its first credential that is at no limit."""
        self._config = config
        self._unusable.clear()
        self._had = ""
        known = [each.source for each in config.agent.credentials]
        kept = [self._source] if self._source in known else []
        self._source = next(iter((*self._free(), *kept, *known)), "")

    @property
    def config(self) -> Config:
        """The configuration with the credential in force as `agent.credential`."""
        return paid_by(self._config, self._source)

    def limits(self) -> DayLimits:
        """Return the budgets of a day, with those of the credential in force."""
        return self._limits_of(self._source)

    def passed_over(self, account: str) -> str:
        """Why an account pays for nothing now; empty if it may, or is none of the configuration."""
        return next(
            (self._reason(each.source) for each in self._several() if self._account(each.source) == account), ""
        )

    def pass_over(self, account: str) -> bool:
        """Take note that the model refused the credential of an account; whether it is one of several."""
        sources = [each.source for each in self._several() if self._account(each.source) == account]
        for source in sources:
            self._unusable[source] = self._clock.mono() + UNUSABLE_SECONDS
        if self._due is not None:
            self._due.set()
        return bool(sources)

    def accounts(self) -> list[str]:
        """Return the accounts of the configuration, in their order; none if there is one credential at most."""
        return [self._account(each.source) for each in self._several()]

    async def run(self, daemon: BudgetParts, take: Callable[[Config], object]) -> None:
        """Look again and again, and at once after a credential was refused."""
        while True:
            self._due = anyio.Event()
            await self.look(daemon, take)
            with anyio.move_on_after(LOOK_SECONDS):
                await self._due.wait()

    def has_another(self) -> bool:
        """Whether the credential in force is at a limit and another is not, which is then tried and taken."""
        return bool(self._reason(self._source)) and bool(self._free())

    async def look(self, daemon: BudgetParts, take: Callable[[Config], object]) -> None:
        """Take the first credential that is at no limit, if that is not the one in force.

        Args:
            daemon: Notes what is done.
            take: Puts the configuration with the credential in force.
        """
        for source in self._free():
            if source == self._source and source == self._had:
                return
            try:
                await anyio.to_thread.run_sync(
                    check_credential, paid_by(self._config, source), self._environ, self._clock
                )
            except ChaperonError as error:
                self._unusable[source] = self._clock.mono() + UNUSABLE_SECONDS
                what = f"The credential {self._account(source)} was passed over for five minutes: {error.what}"
                daemon.fault("", "credential_passed_over", what, Severity.MEDIUM, error.way_out)
                continue
            if source not in self._free():  # another configuration came meanwhile, or it met a limit
                return
            self._had = source
            if source == self._source:
                return
            before, why = daemon.account, self._reason(self._source) or "it is the first of agent.credentials again"
            self._source = source
            take(self.config)
            daemon.happened(events.CredentialTaken(**daemon.stamp(""), account=daemon.account, before=before, why=why))
            return

    def _several(self) -> tuple[AgentCredential, ...]:
        return self._config.agent.credentials

    def _free(self) -> list[str]:
        return [each.source for each in self._several() if not self._reason(each.source)]

    def _account(self, source: str) -> str:
        return account_of(_paid_by(self._config.agent, source), self._environ)

    def _limits_of(self, source: str) -> DayLimits:
        limits = day_limits(self._config)
        for each in self._several():
            if each.source == source:
                cost, tokens = each.max_cost_per_day_usd, each.max_tokens_per_day
                return replace(
                    limits,
                    account_cost_usd=limits.account_cost_usd if cost is None else cost,
                    account_tokens=limits.account_tokens if tokens is None else tokens,
                )
        return limits

    def _reason(self, source: str) -> str:
        """Why a credential is passed over; empty if it is not."""
        account, now = self._account(source), self._clock.wall()
        if (until := self._board.usage_limits.until(account)) > now:
            return f"the usage limit of {account} holds until {utc(until)}"
        limits = replace(self._limits_of(source), cost_usd=None, tokens=None)
        for budget in self._board.costs.day_budgets(limits, int(now // DAY), account):
            if budget.used_up:
                return f"{budget.what} is used up ({budget.sentence})"
        if self._unusable.get(source, 0.0) > self._clock.mono():
            return f"{account} could not be had, or was refused"
        return ""


def paid_by(config: Config, source: str) -> Config:
    """Return a configuration with this source as its one credential; an empty one changes nothing."""
    if not source:
        return config
    return config.model_copy(update={"agent": _paid_by(config.agent, source)})


def _paid_by(agent: Agent, source: str) -> Agent:
    return agent.model_copy(update={"credential": source})
