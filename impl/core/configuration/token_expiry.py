"""The controller looks now and then for tokens that are over, and removes them (SEC-003)."""

from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.config_store import ConfigStore
from fencepost.impl.core.configuration.mutations import Mutations
from fencepost.impl.core.configuration.stored_tokens import stored_tokens
from fencepost.impl.core.controller.controller import Controller
from fencepost.impl.core.controller.controller_generation import ControllerGeneration
from fencepost.impl.core.types.scripts import Outbox


class TokenExpiry:
    """The looks of one generation after the other, the first of each as soon as it can."""

    def __init__(
        self,
        config: Config,
        outbox: Outbox,
        controller: Controller,
        configs: ConfigStore,
        mutations: Mutations,
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._controller = controller
        self._configs = configs
        self._mutations = mutations
        self._generation: ControllerGeneration | None = None
        self._due_ms = 0

    def tick(self, wall_ms: int) -> None:
        """What is over by the time of the world goes, once it is time to look."""
        generation, now_ms = self._controller.generation, self._outbox.now_ms
        if generation.is_over() or not self._configs.is_read:
            return
        if generation is self._generation and now_ms < self._due_ms:
            return
        self._generation, self._due_ms = generation, now_ms + self._config.token_check_ms
        known = stored_tokens(self._configs)
        for token_id in self._config.rules.tokens_to_remove(known, wall_ms):
            self._mutations.remove_token(token_id, wall_ms, generation)
