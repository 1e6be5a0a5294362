(* Dies of an error that nobody catches. *)

let divide left right =
  left / right (* @uncaught *)

let average numbers =
  let total = List.fold_left ( + ) 0 numbers in
  let middle = divide total (List.length numbers) in (* @caller *)
  middle

let () =
  print_endline "averages";
  Printf.printf "%d\n%!" (average [ 1; 2; 3 ]);
  Printf.printf "%d\n%!" (average [])
