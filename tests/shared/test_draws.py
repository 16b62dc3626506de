import subprocess
import sys
from collections import Counter

import pytest
from scipy.stats import chisquare

from shared.draws import draw, generator, number


def test_a_draw_depends_on_its_names_alone():
    assert number(1, "a") == number(1, "a")
    # the parts are kept apart: ("ab", "c") is not ("a", "bc")
    assert number("ab", "c") != number("a", "bc")
    assert number(1, "a") != number(2, "a")


def test_draws_are_the_same_in_another_process():
    code = "from shared.draws import number; print(number(7, 'item', 'order'))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(printed) == number(7, "item", "order")


def test_draws_are_uniform_and_independent_between_purposes():
    n = 3000
    orders = [draw("ab", 1, i, "order") for i in range(n)]
    carriers = [draw("ab", 1, i, "carrier") for i in range(n)]
    assert chisquare(list(Counter(orders).values())).pvalue > 0.001
    # four combinations, equally often
    assert chisquare(list(Counter(zip(orders, carriers, strict=True)).values())).pvalue > 0.001


def test_no_options_is_an_error():
    with pytest.raises(ZeroDivisionError):
        draw([], "a")


def test_a_generator_depends_on_its_names_alone():
    assert generator(1, "a").random() == generator(1, "a").random() != generator(1, "b").random()
