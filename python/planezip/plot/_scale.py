"""From values to places, and the ticks of an axis."""
import math


class Linear:
    """Maps low..high to start..end.  at: the ticks, instead of round numbers."""

    def __init__(self, low, high, at=None):
        self.low, self.high, self.at = low, high if high > low else low + 1, at
        self.start, self.end = 0.0, 1.0

    def over(self, start, end):
        self.start, self.end = start, end
        return self

    def share(self, value):
        return (value - self.low) / (self.high - self.low)

    def __call__(self, value):
        return self.start + self.share(value) * (self.end - self.start)

    def ticks(self, about=5):
        """Round numbers within the scale, or the given ones."""
        if self.at:
            return [value for value in self.at if self.low <= value <= self.high]
        return self.round_numbers(about)

    def round_numbers(self, about):
        rough = (self.high - self.low) / about
        power = 10 ** math.floor(math.log10(rough))
        step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(i * step, 10) for i in range(first, last + 1)]


class Log(Linear):
    """The same by logarithms, with powers of ten."""

    def share(self, value):
        value = max(value, self.low / 1e3)
        return math.log(value / self.low) / math.log(self.high / self.low)

    def round_numbers(self, about):
        powers = range(math.ceil(math.log10(self.low) - 1e-9),
                       math.floor(math.log10(self.high) + 1e-9) + 1)
        return [10.0 ** power for power in powers]


def nice_top(value, about=4):
    """The least round number that is not below value."""
    step = Linear(0, max(value, 1e-9)).ticks(about)
    step = step[1] if len(step) > 1 else value
    return step * math.ceil(value / step - 1e-9)
