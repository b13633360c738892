# Sets goods aside: one process per message, the envelope on stdin, the answer on stdout.
field() { printf %s "$message" | sed -n "s/.*<\([a-z0-9]*:\)\{0,1\}$1>\([^<]*\)<.*/\2/p"; }
message=$(cat)
quantity=$(field quantity)
sleep 1
echo "<reserved xmlns=\"https://xml-pipeline.org/ns/stock/v1\"><item>$(field item)</item><quantity>$quantity</quantity><total>$((quantity * 7))</total></reserved>"
