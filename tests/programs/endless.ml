(* Never ends by itself, and writes a file when it has begun. *)

let write path =
  let out = open_out path in
  output_string out "spinning";
  close_out out

let spin path =
  let turns = ref 0 in
  write path;
  while true do
    turns := !turns + 1; (* @turn *)
    ignore (Sys.opaque_identity !turns)
  done

let () = spin (if Array.length Sys.argv > 1 then Sys.argv.(1) else "spinning.txt")
