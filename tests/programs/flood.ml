(* Prints much: as many megabytes as the first argument says, in lines of 100 bytes. *)

let () =
  let megabytes = if Array.length Sys.argv > 1 then float_of_string Sys.argv.(1) else 1. in
  let line = String.make 99 'x' ^ "\n" in
  let lines = int_of_float (megabytes *. 10_000.) in
  let block = String.concat "" (List.init 1000 (fun _ -> line)) in
  for _ = 1 to lines / 1000 do
    print_string block
  done;
  Printf.printf "last line %d\n%!" lines (* @end *)
