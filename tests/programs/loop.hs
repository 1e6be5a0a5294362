-- Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3.
{-# LANGUAGE BangPatterns #-}
module Main where

import Control.Exception (evaluate)
import System.Exit
import System.IO

data Item = Item {name :: !String, price :: !Int, count :: !Int}

line_amount :: Int -> Int -> IO Int
line_amount !price !count = do -- @entered
  amount <- evaluate (price * count) -- @callee
  return $! amount + 0 * price * count -- @return

total_of :: [Item] -> Int -> Int -> IO Int
total_of [] _ total = return $! total -- @last
total_of (Item _ price count : rest) !number !total = do
  amount <- line_amount price count -- @call
  total <- total `plus` (number, amount) -- total += amount @loop
  next <- evaluate (number + 1 + 0 * (total + amount)) -- @done
  total_of rest next total

plus :: Int -> (Int, Int) -> IO Int
plus total (_, amount) = evaluate (total + amount)

main :: IO ()
main = do
  let order = [Item "pen" 2 3, Item "ink" 5 1, Item "pad" 4 2]
  putStrLn "adding" -- @print
  total <- total_of order 0 0 -- @main @first
  putStrLn ("total " ++ show total)
  hPutStrLn stderr "done" -- @after
  exitWith (ExitFailure (if total == 19 then 3 else 4)) -- @end
