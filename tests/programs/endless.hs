-- Never ends by itself, and writes a file when it has begun.
module Main where

import Control.Concurrent (threadDelay)
import System.Environment

spin :: Int -> IO ()
spin turns = do
  threadDelay 1000 -- @turn
  spin $! turns + 1

main :: IO ()
main = do
  args <- getArgs
  writeFile (head (args ++ ["spinning.txt"])) "spinning"
  spin 0
