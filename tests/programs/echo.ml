(* Echoes its standard input line by line, and counts the lines. *)

let rec heard count =
  match read_line () with
  | line ->
    let count = count + 1 in
    Printf.printf "heard %s\n%!" (String.trim line); (* @line *)
    heard count
  | exception End_of_file -> count

let () =
  print_endline "ready";
  let count = heard 0 in
  Printf.printf "lines %d\n%!" count (* @eof *)
