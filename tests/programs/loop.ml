(* Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3. *)

type item = { name : string; price : int; count : int; mutable ready : bool }

let line_amount price count =
  let amount = price * count in (* @callee *)
  amount (* @return *)

let total_of items =
  let sum = ref 0 in (* @first *)
  for number = 0 to Array.length items - 1 do
    let item = items.(number) in
    let total = !sum in
    let amount = line_amount item.price item.count in (* @call *)
    let total = total + amount in (* total += amount @loop *)
    sum := total; (* @done *)
    item.ready <- item.name <> ""
  done;
  let total = !sum in
  total (* @last *)

let main () =
  let nothing = None in
  let order =
    [|
      { name = "pen"; price = 2; count = 3; ready = false };
      { name = "ink"; price = 5; count = 1; ready = false };
      { name = "pad"; price = 4; count = 2; ready = false };
    |]
  in
  print_endline "adding"; (* @print *)
  let total = total_of order in (* @main *)
  Printf.printf "total %d\n%!" total;
  prerr_endline "done"; (* @after *)
  if nothing = None && total = 19 then 3 else 4 (* @end *)

let () = exit (main ())
