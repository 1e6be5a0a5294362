-- Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3.
module Main where

import Control.Exception (evaluate)
import System.Exit
import System.IO

data Item = Item {name :: String, price :: Int, count :: Int}

line_amount :: Int -> Int -> IO Int
line_amount price count = do
  amount <- evaluate (price * count) -- @callee
  return $! amount + 0 * (price + count) -- @return

total_of :: [Item] -> IO Int
total_of items = go 0 0 -- @first
  where
    go number total
      | number < length items = do
          let item = items !! number
          amount <- line_amount (price item) (count item) -- @call
          sum <- total `plus` (amount, number) -- @loop
          next <- evaluate (number + 1) -- @done
          go next sum
      | otherwise = return $! total -- @last

plus :: Int -> (Int, Int) -> IO Int
plus total (amount, _) = evaluate (total + amount)

main :: IO ()
main = do
  let order = [Item "pen" 2 3, Item "ink" 5 1, Item "pad" 4 2]
  putStrLn "adding" -- @print
  total <- total_of order -- @main
  putStrLn ("total " ++ show total)
  hPutStrLn stderr "done" -- @after
  exitWith (ExitFailure (if total == 19 then 3 else 4)) -- @end
