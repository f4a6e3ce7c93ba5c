"""Capabilities without a running gateway, for `tenk doctor` and `tenk trust`."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from channels.clocks import Clocks
from gateway.capabilities.base import CapabilityDeps
from gateway.capabilities.table import Capabilities
from gateway.capabilities.trust import Trust
from gateway.config.settings import Settings
from gateway.safety.vault import Vault, read_keys
from gateway.store.addresses import file_of
from gateway.store.engine import Store, engine_for


@asynccontextmanager
async def open_capabilities(settings: Settings, tenant: str) -> AsyncIterator[Capabilities]:
    """Make a tenant's capabilities, beside a running gateway or before its first start.

    Raises:
        GatewayError: a capability cannot be made, or the database cannot be read.
    """
    given = settings.gateway.secret_keys
    keys = read_keys(settings.home, None if given is None else given.get_secret_value())
    async with AsyncExitStack() as closing:
        url, file = settings.database_url, file_of(settings.database_url)
        is_new = file is not None and not file.exists()
        if is_new:  # an empty one stands for it
            url = f"sqlite:///{Path(closing.enter_context(TemporaryDirectory())) / 'empty.db'}"
        engine = engine_for(url)
        store = Store(engine)
        trust = Trust(store)
        vault = Vault(keys) if keys else Vault.fresh()
        deps = CapabilityDeps(store.of(tenant), vault, Clocks(), trust.of(tenant))
        made = Capabilities(settings.of_tenant(tenant), deps)
        if made:
            closing.push_async_callback(store.aclose if is_new else engine.aclose)
            await (store.start() if is_new else engine.open_for_reading())
            await trust.load()
        closing.push_async_callback(made.aclose)
        yield made
