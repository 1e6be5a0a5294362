(* A recursion with a known depth: 10 frames of `down` at the bottom. *)

let rec down depth =
  if depth = 0 then
    1 (* @bottom *)
  else
    let below = down (depth - 1) in
    below + 1 (* @up *)

let () = print_int (down 9) (* @start *)
