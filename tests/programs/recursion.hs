-- A recursion with a known depth: 10 frames of `down` at the bottom.
module Main where

down :: Int -> IO Int
down depth = do
  if depth == 0
    then return 1 -- @bottom
    else do
      below <- down $! depth - 1
      return $! below + 1 -- @up

main :: IO ()
main = down 9 >>= print -- @start
