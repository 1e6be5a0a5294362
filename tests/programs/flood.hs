-- Prints much: as many megabytes as the first argument says, in lines of 100 bytes.
module Main where

import System.Environment

main :: IO ()
main = do
  args <- getArgs
  let lines = read (head (args ++ ["1"])) * 10000 :: Int
      block = concat (replicate 1000 (replicate 99 'x' ++ "\n"))
  mapM_ (const (putStr block)) [1 .. lines `div` 1000]
  putStrLn ("last line " ++ show lines) -- @end
