"""Shares of the descriptors that a process may open."""

import resource

import pytest

from gateway import descriptors
from gateway.config.settings import Settings
from gateway.descriptors import fit_to_files


def test_soft_limit_is_raised_to_what_the_hard_one_allows():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = descriptors.WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, descriptors.WANTED_FILES)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 500), hard))
        assert most == descriptors.raise_file_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert most == descriptors.raise_file_limit()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    ("files", "connections", "views"),
    [(60_000, 512, 384), (1024, 512, 384), (1000, 500, 375), (100, 50, 37), (5, 8, 6)],
)
def test_connections_take_half_of_the_files(files: int, connections: int, views: int):
    settings = fit_to_files(Settings(), files)
    assert (connections, views) == (settings.http.connections, settings.channels.web.views)


def test_what_was_configured_is_kept_where_it_fits():
    settings = fit_to_files(
        Settings.model_validate({"http": {"connections": 100}, "channels": {"web": {"views": 5}}}), 60_000
    )
    assert (100, 5) == (settings.http.connections, settings.channels.web.views)
