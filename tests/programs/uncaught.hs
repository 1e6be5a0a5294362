-- Dies of an error that nobody catches.
module Main where

divide :: Int -> Int -> Int
divide _ 0 =
  error "division by zero" -- @uncaught
divide left right = left `div` right

average :: [Int] -> Int
average numbers = divide (sum numbers) (length numbers) -- @caller

main :: IO ()
main = do
  putStrLn "averages"
  print (average [1, 2, 3])
  print (average [])
