"""Haskell through GHCi: laziness is left alone, exceptions are shown where the program was last."""

from __future__ import annotations

from harness.reports import functions, place, printed, texts, values

_SHOP = r"""module Shop where

price :: Int -> Int
price n =
  n * 2 -- @price

label :: [Int] -> Int -> String
label items _ = show (length items) ++ " items"

ratio :: Int -> Int -> Int
ratio left right =
  left `div` right -- @ratio
"""
_MAIN = r"""module Main where

import Control.Exception
import qualified Shop
import System.Environment
import System.Exit

main :: IO ()
main = do
  args <- getArgs
  name <- getProgName
  putStrLn (unwords (name : args))
  let items = map Shop.price [1, 2, 3]
      never = error "it was forced" :: Int
  putStrLn (Shop.label items never) -- @lazy
  caught <- try (exitWith (ExitFailure 9)) :: IO (Either ExitCode ())
  print caught
  print (Shop.ratio 7 0) -- @fails
"""


def test_nothing_is_evaluated_because_it_is_looked_at(dbg, write_program):
    shop = write_program("Shop.hs", _SHOP)
    p = write_program("Main.hs", _MAIN)

    report = dbg.data("start", p.name, "-b", p.at("lazy"), "--", "one two", "{stdout}")

    assert place(report) == p.at("lazy")
    assert printed(report) == "Main one two {stdout}\n"
    assert (texts(report)["items"], texts(report)["never"]) == ("_", "_")
    assert values(report)["items"]["type"] == "[Int]"
    # What is asked for is: as far as that goes, and for the program too.
    assert dbg.data("print", "head items")["value"]["text"] == "2"
    assert texts(dbg.data("locals"))["items"] == "2 : _"
    assert dbg.error("print", "never + 1")["message"].startswith("it was forced")
    assert "Variable not in scope: nobody" in dbg.error("print", "nobody")["message"]
    dbg.data("eval", "let twice = sum items * 2")
    assert dbg.data("print", "twice")["value"]["text"] == "24"
    # What is run prints where the program prints.
    assert printed(dbg.data("eval", 'putStrLn "said"')) == "said\n"
    dbg.data("break", shop.at("ratio"))
    failing = dbg.data("continue")
    assert place(failing) == shop.at("ratio")
    assert (texts(failing)["left"], texts(failing)["right"]) == ("7", "0")
    assert printed(failing) == "3 items\nLeft (ExitFailure 9)\n"


def test_an_exception_is_shown_where_the_program_was_last(dbg, write_program):
    shop = write_program("Shop.hs", _SHOP)
    p = write_program("Main.hs", _MAIN)

    # Without a trace the location is unknown, and the answer says how to find it.
    silent = dbg.data("start", p.name)
    assert silent["stop"]["exception"]["type"] == "ArithException"
    assert silent["stop"]["frame"] is None
    assert "dbg catch traced" in silent["stop"]["exception"]["raw_traceback"]
    dbg.data("catch", "traced")

    report = dbg.data("restart")

    assert place(report) == shop.at("ratio")
    assert texts(report)["right"] == "0"
    assert dbg.data("print", "left + 1")["value"]["text"] == "8"
    [stack] = dbg.data("backtrace")["stacks"]
    assert functions(stack) == ["ratio"]
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 1
    assert "divide by zero" in printed(ended, "stderr")
    # Every one of them, on request: the first is caught.
    dbg.data("catch", "remove", "traced")
    dbg.data("catch", "raised")
    assert dbg.data("restart")["stop"]["exception"]["message"] == "ExitFailure 9"
    assert dbg.data("continue")["stop"]["exception"]["message"] == "divide by zero"


def test_what_does_not_compile_is_told_in_the_compiler_s_words(dbg, write_program):
    wrong = write_program("Wrong.hs", "main :: IO ()\nmain = putStrLn (1 :: Int)\n")
    empty = write_program("Empty.hs", "module Empty where\nnothing :: Int\nnothing = 0\n")

    failed = dbg.error("start", wrong.name)

    assert failed["code"] == "build-failed"
    assert "Wrong.hs:2:18: error" in failed["message"]
    assert dbg.error("start", empty.name)["code"] == "launch-failed"
