"""What ends code that runs too long; alone here, for modules that only pass it on."""


class LessonTimeout(Exception):
    """A lesson, or an entry of the error index, ran longer than its limit."""
