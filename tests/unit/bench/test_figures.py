"""The arithmetic of the bench."""

from tests.bench.figures import Figures, Load, percentile, side_by_side


class TestPercentile:
    def test_it_is_the_value_that_so_many_stay_under(self):
        """Whatever the order of the values."""
        values = [float(number) for number in range(1000, 0, -1)]
        assert 501 == percentile(values, 50)
        assert 991 == percentile(values, 99)
        assert 1000 == percentile(values, 99.9)
        assert 1000 == percentile(values, 100)

    def test_few_values_give_the_largest_at_the_top(self):
        """One value is every percentile, none gives zero."""
        assert 7 == percentile([7.0], 50) == percentile([7.0], 99.9)
        assert 0 == percentile([], 50)


class TestFigures:
    def test_cpu_is_per_message_and_speed_per_second(self):
        """A hundred messages in four seconds with half a second of CPU."""
        load = Load(100, 4.0, [10.0] * 90 + [50.0] * 10)
        figures = Figures.of(load, 0.5, 64.0)
        assert Figures(cpu_ms=5.0, per_s=25.0, p50_ms=10.0, p95_ms=50.0, rss_mb=64.0) == figures
        assert {"cpu_ms": 5.0, "per_s": 25.0, "p50_ms": 10.0, "p95_ms": 50.0, "rss_mb": 64.0} == figures.rounded()

    def test_the_table_shows_both_bots_and_their_ratio(self):
        """A yardstick that used nothing has no ratio."""
        ours = Figures(cpu_ms=3.0, per_s=100.0, p50_ms=60.0, p95_ms=70.0, rss_mb=80.0)
        bare = Figures(cpu_ms=0.0, per_s=200.0, p50_ms=55.0, p95_ms=70.0, rss_mb=40.0)
        table = [line.split() for line in side_by_side(ours, bare)]
        assert ["gateway", "bare", "bot", "ratio"] == table[0]
        assert ["CPU", "ms/message", "3.00", "0.00", "-"] == table[1]
        assert ["messages/s", "100.00", "200.00", "0.50"] == table[2]
        assert ["RSS", "MiB", "80.00", "40.00", "2.00"] == table[5]
