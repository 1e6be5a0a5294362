-- Echoes its standard input line by line, and counts the lines.
module Main where

import System.IO

main :: IO ()
main = do
  putStrLn "ready"
  hFlush stdout
  echo 0

echo :: Int -> IO ()
echo count = do
  over <- isEOF
  if over
    then putStrLn ("lines " ++ show count) -- @eof
    else do
      line <- getLine
      putStrLn ("heard " ++ line) -- @line
      echo (count + 1)
