# class: protocol
# tries: send frames that are nested too deep and too large
# must: refused before they are parsed
# ends: cut
print ask(1, '{"subtype":"x","a":' . "[" x 100000 . "]" x 100000 . "}");
print hook($_, '{"a":"' . "y" x 2_000_000 . '"}') for 2 .. 20;
sleep 30;
